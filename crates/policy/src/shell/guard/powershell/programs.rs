//! What the guard knows about programs and cmdlets of Windows, by their names in lower case.

use super::super::git::GLOBAL;
use super::super::options::parse;
use super::super::partial_word::PartialWord;
use super::super::programs::has_word;
use super::listed;

/// Tools whose arguments may have a colon that is not that of a drive, as in `build:web` or
/// `HEAD:notes.txt`: no other program knows the drives of PowerShell.
pub(super) const WITH_COLONS: &str = "git cargo go dotnet npm npx node python python3 py pytest mvn \
    gradle docker yarn pnpm";

/// Programs that read files alone, beside those of the list.
pub(super) const READERS: &str = "rg jq compare-object";

/// What changes the working directory.
pub(super) const MOVES: &str = "cd chdir sl set-location pushd push-location";

/// What removes files.
const DELETES: &str = "remove-item ri rm rd rmdir del erase deltree clear-content clc clear-item cli";

/// Verbs of cmdlets that start, install or change something. `strict` lists the cmdlets it allows.
const VERBS: &str = "add clear connect debug disable dismount enable enter import initialize install invoke mount move \
    new publish register remove rename reset restart resume send set start stop suspend trace unblock uninstall \
    unregister update";

/// Cmdlets with such a verb that change nothing but files which they name.
const HARMLESS: &str = "invoke-webrequest invoke-restmethod start-sleep import-csv import-clixml clear-host \
    new-timespan new-guid";

/// Programs that no argument makes harmless, each list with its rule and reason.
const DANGEROUS: &[(&str, &str, &str)] = &[
    (
        "nested-shell",
        "it runs a line or script that the guard does not read",
        "cmd command powershell powershell_ise pwsh bash sh wsl wscript cscript mshta rundll32 regsvr32 msiexec \
         installutil regasm regsvcs forfiles pcalua hh odbcconf cmstp start ise conhost explorer control msdt \
         scriptrunner xwizard presentationhost",
    ),
    (
        "run-text",
        "it runs text, another program or a method of an object",
        "iex icm saps ii sajb sal nal ipal ipmo nmo foreach-object foreach ihy r ndr mount subst si set sv nv iwmi swmi \
         rwmi icim ncim scim rcim sbp rjb rcjb",
    ),
    (
        "run-text",
        "a keyword, behind which a command or a module may follow",
        "return exit throw using if else elseif switch for while do until try catch finally trap function filter \
         workflow configuration class enum data param begin process end dynamicparam break continue in inlinescript \
         parallel sequence",
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

/// Interpreters, beside those whose name begins with `python` or `pypy`.
const INTERPRETERS: &str =
    "py ipython node ruby perl php lua deno bun tsx ts-node rscript julia groovy tclsh";

/// Options of interpreters without a value, which change nothing about where code comes from.
const FLAGS: &str = "-u -B -O -3 --no-warnings --trace-warnings --enable-source-maps";

/// Modules of Python that are tools.
const PYTHON_MODULES: &str = "black json.tool mypy pytest ruff unittest venv";

/// Long options of git that name a program, or settings, or hooks.
const GIT_PROGRAMS: &[&str] = &[
    "--config",
    "--config-env",
    "--exec-path",
    "--exec",
    "--extcmd",
    "--open-files-in-pager",
    "--receive-pack",
    "--super-prefix",
    "--template",
    "--upload-pack",
];

/// Whether the first word of a command can be its name. Others are operators, options of
/// PowerShell, members of classes, patterns, and functions such as `cd..`.
pub(super) fn is_name(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || " -_.\\/:+~()".contains(c);
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric() || "_\\/".contains(c))
        || [".\\", "./", "..\\", "../"].iter().any(|start| word.starts_with(start));
    begins && word.chars().all(is_part) && !word.ends_with(['.', ' ', '\\', '/'])
}

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
    let verb = name.split_once('-').map_or("", |(verb, _)| verb);
    if has_word(VERBS, verb) && !has_word(HARMLESS, name) && listed::find(name).is_none() {
        return Some(("run-text", "a cmdlet that starts, installs or changes something"));
    }
    if name == "git" && names_git_program(args) {
        return Some(("git-config", "git would run a program that an option or setting names"));
    }
    if has_word(DELETES, name) && args.iter().any(|arg| is_forced(&arg.to_ascii_lowercase())) {
        return Some(("forced-deletion", "a forced or recursive deletion"));
    }
    None
}

fn names_git_program(args: &[String]) -> bool {
    let words: Vec<PartialWord> = args.iter().map(|arg| PartialWord::text(arg.as_str())).collect();
    let (_, at) = parse(&words, GLOBAL);
    let (global, rest) = args.split_at(at.min(args.len()));
    let verb = rest.first().map_or("", String::as_str);
    // Git takes the beginning of a long option for all of it.
    let is_long = |arg: &String| {
        let given = arg.split('=').next().unwrap_or(arg);
        given.len() > 2 && GIT_PROGRAMS.iter().any(|option| option.starts_with(given))
    };
    let has_letter = |letters: &[char]| {
        rest.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letters))
    };
    // `name::address` is fetched by a program of that name.
    let has_helper = || rest.iter().any(|arg| arg.contains("::"));
    global.iter().any(|arg| arg.starts_with("-c"))
        || args.iter().any(is_long)
        || match verb {
            "config" | "difftool" | "mergetool" | "filter-branch" | "hook" => true,
            "submodule" => rest.iter().any(|arg| arg == "foreach") || has_helper(),
            "rebase" => has_letter(&['x']),
            "grep" => has_letter(&['O']),
            "clone" => has_letter(&['c', 'u']) || has_helper(),
            "fetch" | "pull" | "remote" | "ls-remote" | "archive" => has_helper(),
            _ => false,
        }
}

/// `-r`, `-rec`, `-rf`, `-force`, `/s`, `/q`, and switches in one word such as `/s/q`.
fn is_forced(arg: &str) -> bool {
    arg.starts_with("-r")
        || arg == "-f"
        || arg.starts_with("-fo")
        || (arg.starts_with('/') && arg.split('/').skip(1).any(|name| matches!(name, "f" | "q" | "s")))
}

/// Whether an interpreter would take its code from an option or from its input: whether its first
/// argument is not a script.
pub(super) fn runs_inline_code(name: &str, args: &[String]) -> bool {
    let is_python = ["python", "pypy"].iter().any(|start| name.starts_with(start)) || name == "py";
    if !is_python && !has_word(INTERPRETERS, name) {
        return false;
    }
    match args {
        [m, module, ..] if m == "-m" && is_python => !has_word(PYTHON_MODULES, module),
        [option] if listed::is_version(name, option) => false,
        _ => {
            let mut rest = args.iter().skip_while(|arg| has_word(FLAGS, arg));
            rest.next().is_none_or(|first| first.starts_with('-') || has_word("eval repl", first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_on_the_list_is_dangerous_by_its_name() {
        for name in listed::names() {
            assert_eq!(danger(name, &["x".to_owned()]), None, "{name}");
        }
    }
}
