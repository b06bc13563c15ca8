//! What the guard knows about programs and cmdlets of Windows, by their names in lower case.

use super::super::programs::has_word;

/// Programs and cmdlets whose arguments are files or text, and tools that build what is in the
/// workspace: all that `strict` allows.
pub(super) const PLAIN: &str = "dir ls gci get-childitem type cat gc get-content echo write write-output write-host \
    cd chdir sl set-location pushd push-location popd pop-location pwd gl get-location mkdir md new-item ni \
    copy cp cpi copy-item move mv mi move-item ren rni rename-item rm ri del erase remove-item rd rmdir \
    more findstr select-string sls sort sort-object select select-object measure measure-object \
    fc tree where gcm get-command hostname whoami ver date get-date test-path compare compare-object diff \
    tee tee-object out-file out-null out-string set-content add-content ac format-table ft format-list fl \
    convertto-json convertfrom-json get-filehash resolve-path split-path \
    git cargo rustc rustfmt go dotnet npm node python python3 py pytest tsc eslint prettier jest vitest make cmake \
    ctest ninja mvn gradle javac jq";

/// Subcommands that run nothing but the program itself and the scripts of the workspace.
const GIT_VERBS: &str = "add am apply blame branch cat-file checkout cherry-pick clean clone commit describe diff \
    fetch grep init log ls-files ls-tree merge mv pull rebase reflog remote reset restore rev-parse revert rm \
    shortlog show stash status switch tag --version";
const NPM_VERBS: &str =
    "audit ci i install list ls outdated run run-script start t test uninstall update version view --version";
const PYTHON_MODULES: &str = "black json.tool mypy pytest ruff unittest venv";

/// Programs of their own, which know no drives of PowerShell.
pub(super) const EXTERNAL: &str = "findstr where tree fc git cargo rustc rustfmt go dotnet npm npx node python \
    python3 py pytest tsc eslint prettier jest vitest make cmake ctest ninja mvn gradle javac java rg jq pip pip3 \
    msbuild tasklist docker yarn pnpm";

/// Those of them whose options begin with `/`.
pub(super) const WITH_SWITCHES: &str = "findstr where tree fc msbuild tasklist";

/// Programs that read files alone.
pub(super) const READERS: &str = "dir ls gci get-childitem type cat gc get-content more findstr select-string sls fc \
    tree test-path compare compare-object diff get-filehash resolve-path rg jq";

/// What changes the working directory.
pub(super) const MOVES: &str = "cd chdir sl set-location pushd push-location";

/// What removes files.
const DELETES: &str = "remove-item ri rm rd rmdir del erase deltree clear-content clc clear-item cli";

/// Programs that no argument makes harmless, each list with its rule and reason.
const DANGEROUS: &[(&str, &str, &str)] = &[
    (
        "nested-shell",
        "it runs a line or script that the guard does not read",
        "cmd command powershell powershell_ise pwsh bash sh wsl wscript cscript mshta rundll32 regsvr32 msiexec \
         installutil regasm regsvcs forfiles pcalua hh odbcconf cmstp start . ise",
    ),
    (
        "run-text",
        "it runs text, another program or a method of an object",
        "iex invoke-expression icm invoke-command saps start-process ii invoke-item add-type new-object \
         invoke-wmimethod invoke-cimmethod sajb start-job start-threadjob set-alias sal new-alias nal \
         import-alias ipal set-executionpolicy ipmo import-module foreach-object foreach invoke-history ihy r \
         new-psdrive ndr mount subst set-item si set-variable sv new-variable nv",
    ),
    (
        "disk-formatting",
        "it changes disks, volumes or how the machine starts",
        "format format-volume clear-disk initialize-disk new-partition remove-partition resize-partition set-disk \
         diskpart fsutil cipher vssadmin wbadmin bcdedit bootcfg mountvol chkdsk manage-bde",
    ),
    (
        "power",
        "it stops the machine or a session",
        "shutdown reboot poweroff stop-computer restart-computer logoff tsdiscon rundown",
    ),
    ("process-control", "it ends processes", "taskkill tskill stop-process spps kill pskill wmic"),
    (
        "privilege",
        "it changes rights or runs with other ones",
        "runas sudo gsudo psexec psexec64 takeown icacls cacls xcacls set-acl secedit gpupdate cmdkey vaultcmd \
         get-credential",
    ),
    (
        "system-settings",
        "it changes services, accounts, tasks, the registry or the network",
        "reg regedit regini schtasks at sc net net1 netsh new-service set-service start-service sasv stop-service \
         spsv restart-service remove-service register-scheduledtask new-itemproperty set-itemproperty sp \
         remove-itemproperty rp setx dism sfc new-localuser set-localuser add-localgroupmember \
         set-mppreference add-mppreference wevtutil clear-eventlog",
    ),
    (
        "remote",
        "it downloads to a file or reaches another machine",
        "certutil bitsadmin start-bitstransfer ssh scp sftp plink pscp ftp tftp telnet winrs winrm enter-pssession etsn \
         new-pssession nsn mstsc finger",
    ),
    (
        "package-install",
        "it installs programs for the whole account",
        "winget choco cinst scoop install-module inmo install-package install-script",
    ),
];

/// Interpreters, and the options behind which code follows.
const INTERPRETERS: &str = "python python3 py node ruby perl php lua deno bun";
const CODE_OPTIONS: &[&str] =
    &["-c", "-e", "-p", "-r", "-", "-i", "--eval", "--print", "--require", "--import", "-pe"];

/// The name of a program without directory and extension. A cmdlet may have the name of its module.
pub(super) fn base_name(word: &str) -> String {
    let base = word.rsplit(['\\', '/']).next().unwrap_or(word).to_ascii_lowercase();
    for extension in [".exe", ".com", ".cmd", ".bat", ".ps1"] {
        if let Some(name) = base.strip_suffix(extension) {
            return name.to_owned();
        }
    }
    base
}

/// The rule that a command breaks by its name and options, and why.
pub(super) fn danger(name: &str, args: &[String]) -> Option<(&'static str, &'static str)> {
    if let Some((rule, why, _)) = DANGEROUS.iter().find(|(_, _, names)| has_word(names, name)) {
        return Some((rule, why));
    }
    if name == "git" && args.iter().any(|arg| names_git_program(arg)) {
        return Some(("git-config", "git would run a program that an option or setting names"));
    }
    if !has_word(DELETES, name) {
        return None;
    }
    if args.iter().any(|arg| is_forced(&arg.to_ascii_lowercase())) {
        return Some(("forced-deletion", "a forced or recursive deletion"));
    }
    let is_piped = args.iter().all(|arg| arg.starts_with('-'));
    is_piped.then_some(("forced-deletion", "a deletion of whatever the pipeline names"))
}

fn names_git_program(arg: &str) -> bool {
    ["-c", "config", "difftool", "mergetool", "filter-branch"].contains(&arg)
        || ["--config-env", "--exec-path", "--upload-pack", "--receive-pack"]
            .iter()
            .any(|option| arg.starts_with(option))
}

/// Whether `strict` allows a command by its name.
pub(super) fn is_plain(name: &str, args: &[String]) -> bool {
    let verb = args.first().map_or("", String::as_str);
    match name {
        "git" => has_word(GIT_VERBS, verb),
        "npm" => has_word(NPM_VERBS, verb),
        name => has_word(PLAIN, name),
    }
}

/// `-r`, `-rec`, `-rf`, `-force`, `/s`, `/q`, and switches in one word such as `/s/q`.
fn is_forced(arg: &str) -> bool {
    arg.starts_with("-r")
        || arg == "-f"
        || arg.starts_with("-fo")
        || (arg.starts_with('/') && arg.split('/').skip(1).any(|name| matches!(name, "f" | "q" | "s")))
}

/// Whether an interpreter would take its code from an option or from its input.
pub(super) fn runs_inline_code(name: &str, args: &[String]) -> bool {
    let is_code = |arg: &String| {
        CODE_OPTIONS.contains(&arg.as_str())
            // The value may be in the same word.
            || (arg.len() > 2 && !arg.starts_with("--") && ["-c", "-e"].iter().any(|option| arg.starts_with(option)))
            || arg.starts_with("--eval=")
            || arg.starts_with("--print=")
    };
    let options: Vec<_> = args.iter().take_while(|arg| arg.starts_with('-')).collect();
    let module = args.get(options.len()).map_or("", String::as_str);
    let runs_module =
        options.iter().any(|option| option.starts_with("-m")) && !has_word(PYTHON_MODULES, module);
    has_word(INTERPRETERS, name) && (args.is_empty() || runs_module || options.into_iter().any(is_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plain_program_is_dangerous_by_its_name() {
        for name in PLAIN.split_whitespace() {
            assert_eq!(danger(name, &["x".to_owned()]), None, "{name}");
        }
        for name in WITH_SWITCHES.split_whitespace() {
            assert!(has_word(EXTERNAL, name), "{name}");
        }
    }
}
