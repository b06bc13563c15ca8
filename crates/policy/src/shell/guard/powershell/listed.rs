//! What `strict` allows: commands that only show or change files which their arguments name, and
//! tools that build what is in the workspace. Each with the options that keep it so.

use super::super::programs::has_word;

/// What the arguments of a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Text, or properties of objects.
    Text,
    /// Files to read.
    Reads,
    /// Files to write, move or remove, and directories to change to.
    Writes,
}

/// A cmdlet, or a program of Windows, with the parameters that are known.
pub(super) struct Listed {
    names: &'static str,
    pub(super) takes: Takes,
    parameters: &'static str,
}

const fn listed(takes: Takes, names: &'static str, parameters: &'static str) -> Listed {
    Listed { names, takes, parameters }
}

const LISTED: &[Listed] = &[
    listed(Takes::Text, "echo write write-output write-host", "-nonewline -foregroundcolor"),
    listed(Takes::Text, "sort sort-object", "-property -descending -unique"),
    listed(Takes::Text, "select select-object", "-property -first -last -skip -unique -expandproperty"),
    listed(
        Takes::Text,
        "where where-object",
        "-property -value -eq -ne -gt -ge -lt -le -like -notlike -match -notmatch -contains -in",
    ),
    listed(
        Takes::Text,
        "measure measure-object",
        "-property -line -word -character -sum -average -maximum -minimum",
    ),
    listed(Takes::Text, "group group-object", "-property -noelement"),
    listed(
        Takes::Text,
        "format-table ft format-list fl format-wide fw",
        "-property -autosize -wrap -hidetableheaders",
    ),
    listed(Takes::Text, "out-string out-null out-host", "-width -stream"),
    listed(Takes::Text, "convertto-json convertfrom-json", "-depth -compress"),
    listed(Takes::Text, "get-date date", "-format"),
    listed(Takes::Text, "pwd gl get-location popd pop-location hostname whoami", ""),
    listed(
        Takes::Reads,
        "dir ls gci get-childitem",
        "-path -literalpath -filter -include -exclude -recurse -depth -name -force -file -directory -hidden",
    ),
    listed(
        Takes::Reads,
        "type cat gc get-content",
        "-path -literalpath -totalcount -head -first -tail -last -raw -encoding",
    ),
    listed(
        Takes::Reads,
        "select-string sls",
        "-path -literalpath -pattern -simplematch -casesensitive -list -quiet -notmatch -allmatches -context \
         -encoding -include -exclude",
    ),
    listed(Takes::Reads, "get-item gi test-path resolve-path", "-path -literalpath -pathtype -force"),
    listed(Takes::Reads, "get-filehash", "-path -literalpath -algorithm"),
    listed(Takes::Reads, "get-command gcm", "-name -all"),
    listed(Takes::Reads, "more", ""),
    listed(Takes::Reads, "findstr", "/b /c /i /l /m /n /p /r /s /v /x"),
    listed(Takes::Reads, "tree", "/a /f"),
    listed(Takes::Writes, "cd chdir sl set-location pushd push-location", "-path -literalpath"),
    listed(Takes::Writes, "mkdir md", "-p -path -force"),
    listed(Takes::Writes, "new-item ni", "-path -itemtype -force"),
    listed(Takes::Writes, "copy cp cpi copy-item", "-path -literalpath -destination -recurse -force"),
    listed(Takes::Writes, "move mv mi move-item", "-path -literalpath -destination"),
    listed(Takes::Writes, "ren rni rename-item", "-path -literalpath -newname"),
    listed(Takes::Writes, "del erase rm ri rd rmdir remove-item", "-path -literalpath"),
    listed(Takes::Writes, "set-content add-content ac", "-path -literalpath -value -encoding"),
    listed(Takes::Writes, "out-file tee tee-object", "-filepath -encoding -append -width"),
];

/// The entry for a command, by its name in lower case.
pub(super) fn find(name: &str) -> Option<&'static Listed> {
    LISTED.iter().find(|listed| has_word(listed.names, name))
}

/// Every name on the list.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let tools = TOOLS.iter().map(|tool| tool.names);
    LISTED.iter().map(|listed| listed.names).chain(tools).flat_map(str::split_whitespace)
}

impl Listed {
    /// Whether every option is known.
    pub(super) fn knows(&self, args: &[String]) -> bool {
        let is_known = |arg: &String| {
            let arg = arg.to_ascii_lowercase();
            if self.has_switches() {
                let switch = arg.split(':').next().unwrap_or(&arg);
                return !is_switch(&arg) || has_word(self.parameters, switch);
            }
            // A parameter of a cmdlet has no blank; quoted text may begin with a dash.
            !arg.starts_with('-') || arg.contains(' ') || has_word(self.parameters, &arg)
        };
        // Anything else may be a link.
        let is_plain_item = |pair: &[String]| {
            !pair[0].eq_ignore_ascii_case("-itemtype")
                || ["file", "directory"].iter().any(|kind| pair[1].eq_ignore_ascii_case(kind))
        };
        args.iter().all(is_known) && args.windows(2).all(is_plain_item)
    }

    /// Whether its options begin with `/`.
    pub(super) fn has_switches(&self) -> bool {
        self.parameters.starts_with('/')
    }
}

/// `/s`, `/t:value` or `-s`: an option of a program of Windows, not a path.
pub(super) fn is_switch(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    let letters = name.strip_prefix(['/', '-']);
    letters.is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphanumeric() || c == '?'))
}

/// A tool with its subcommands; none of its options names a program or settings.
struct Tool {
    names: &'static str,
    /// The first argument is one of these, unless there are none.
    verbs: &'static str,
    /// Whether there may be arguments that are no options.
    has_operands: bool,
    /// `#` stands for a number.
    options: &'static str,
}

const fn tool(names: &'static str, verbs: &'static str, options: &'static str) -> Tool {
    Tool { names, verbs, has_operands: true, options }
}

const TOOLS: &[Tool] = &[
    tool("git", "status", "-s -b --short --branch --porcelain"),
    tool(
        "git",
        "diff log show shortlog blame reflog",
        "-p -n -w -L -S -# -n# -U# --stat --cached --staged --name-only --name-status --numstat --shortstat \
         --check --oneline --graph --all --decorate --patch --max-count --since --until --author --grep --format \
         --pretty --date --no-merges --first-parent --reverse --follow --no-color --word-diff --",
    ),
    tool("git", "add", "-A -u -v -n --all --update --verbose --dry-run --"),
    tool(
        "git",
        "commit",
        "-m -a -am -q -s -v --message --all --amend --no-edit --allow-empty --quiet --signoff",
    ),
    tool(
        "git",
        "branch tag",
        "-a -r -v -vv -d -l -m -n --all --list --delete --show-current --merged --no-merged",
    ),
    tool("git", "checkout switch restore", "-b -c -q --create --staged --worktree --source --quiet --"),
    tool("git", "stash", "-u -m --include-untracked --message"),
    tool(
        "git",
        "merge rebase cherry-pick revert",
        "-m --abort --continue --skip --no-edit --ff-only --no-ff",
    ),
    tool("git", "fetch pull", "-p -q --all --prune --tags --quiet --rebase --ff-only --depth"),
    tool("git", "clone", "-b -q --branch --depth --single-branch --quiet"),
    tool("git", "init", "-q -b --quiet --initial-branch"),
    tool("git", "reset rm", "-q --soft --mixed --cached --quiet --"),
    tool("git", "rev-parse describe", "--short --abbrev-ref --verify --show-toplevel --tags --always"),
    tool(
        "git",
        "ls-files ls-tree mv",
        "-r -o -m -d -c --others --modified --cached --exclude-standard --name-only",
    ),
    tool("git", "grep", "-n -i -l -w -c -E -F --line-number --ignore-case --"),
    tool("git", "remote", "-v --verbose"),
    tool(
        "cargo",
        "build b check c test t clippy fmt run r doc bench tree",
        "-p -q -v -j -j# -D -W -A --release --all --workspace --package --all-targets --all-features \
         --no-default-features --features --lib --bin --bins --test --tests --example --examples --no-run --no-deps \
         --locked --offline --quiet --verbose --jobs --message-format --check --exact --nocapture --ignored \
         --test-threads --",
    ),
    tool("rustfmt", "", "--check --edition"),
    tool("go", "build test vet fmt list version", "-v -race -run -count -short -cover -bench -timeout -json"),
    tool(
        "dotnet",
        "build test run restore clean",
        "-c -v --configuration --no-restore --no-build --nologo --verbosity --project --framework",
    ),
    tool("npm", "run run-script", "-s --silent --if-present --workspaces"),
    Tool {
        names: "npm",
        verbs: "ci install i test t start ls list outdated",
        has_operands: false,
        options: "-s --silent --no-audit --no-fund --ignore-scripts --json --all --workspaces",
    },
    tool(
        "tsc eslint prettier",
        "",
        "-p --project --fix --ext --cache --quiet --max-warnings --check --write --noEmit",
    ),
    tool("jest", "", "--ci --coverage --verbose --runInBand"),
    tool("vitest", "run", "--coverage"),
    tool("make", "", "-B -j -k -n -s -j#"),
    tool("cmake", "", "-S -B -j -j# --build --config --target --parallel"),
    tool("gradle", "build test check clean assemble", "-q --quiet --info --stacktrace --offline --no-daemon"),
    tool("ruff", "check format", "--fix --check --diff"),
    tool("black", "", "--check --diff -q"),
    tool("pytest", "", PYTEST),
];

const PYTEST: &str =
    "-q -v -vv -x -s -k -m --lf --ff --tb --maxfail --durations --collect-only --verbose --quiet";

/// Modules of Python that are tools.
const MODULES: &[Tool] = &[
    tool("pytest", "", PYTEST),
    tool("unittest", "", "-v -q -f -b -k -s -p"),
    tool("json.tool", "", "--indent --sort-keys --compact"),
    tool("venv", "", ""),
    tool("mypy", "", "--strict"),
    tool("black", "", "--check --diff -q"),
    tool("ruff", "check format", "--fix --check --diff"),
];

impl Tool {
    fn allows(&self, name: &str, args: &[String]) -> bool {
        let rest = match args.split_first() {
            _ if self.verbs.is_empty() => args,
            Some((verb, rest)) if has_word(self.verbs, verb) => rest,
            _ => return false,
        };
        // An assignment could be a program of `make`, `@file` holds options.
        let is_operand =
            |arg: &str| self.has_operands && !arg.starts_with('@') && (name == "git" || !arg.contains('='));
        let is_option = |arg: &str| {
            let option = arg.split('=').next().unwrap_or(arg);
            let letters = option.trim_end_matches(|c: char| c.is_ascii_digit());
            has_word(self.options, option)
                || (letters.len() < option.len() && has_word(self.options, &format!("{letters}#")))
        };
        rest.iter().all(|arg| if arg.starts_with('-') { is_option(arg) } else { is_operand(arg) })
    }
}

/// Whether `strict` allows a command. Its name is without directory and extension.
pub(super) fn is_plain(name: &str, args: &[String]) -> bool {
    let among = |tools: &[Tool], name: &str, args: &[String]| {
        tools.iter().any(|tool| has_word(tool.names, name) && tool.allows(name, args))
    };
    match (name, args) {
        ("node" | "python" | "python3" | "py", [script, ..]) if is_script(name, script) => true,
        ("python" | "python3" | "py", [m, module, rest @ ..]) if m == "-m" => among(MODULES, module, rest),
        ("git", [pager, rest @ ..]) if pager == "--no-pager" => among(TOOLS, name, rest),
        (_, [version]) if is_version(name, version) => {
            has_word("node python python3 py", name) || TOOLS.iter().any(|tool| has_word(tool.names, name))
        }
        _ => find(name).is_some_and(|listed| listed.knows(args)) || among(TOOLS, name, args),
    }
}

/// Whether an option alone prints the version of a program.
pub(super) fn is_version(name: &str, option: &str) -> bool {
    match option {
        "--version" => true,
        "-v" => has_word("node npm", name),
        "-V" => has_word("python python3 py", name),
        _ => false,
    }
}

/// Whether the first argument of an interpreter is a file of its language.
fn is_script(name: &str, word: &str) -> bool {
    let extensions: &[&str] = if name == "node" { &[".js", ".mjs", ".cjs"] } else { &[".py"] };
    !word.starts_with('-')
        && extensions.iter().any(|extension| word.to_ascii_lowercase().ends_with(extension))
}

/// Whether a command that receives a pipeline takes no paths and no code from it.
///
/// `from` is the name of the command before. Some cmdlets take their files from properties of
/// objects: `Select-String` gets text alone, and what writes has to name its file.
pub(super) fn takes_text_alone(name: &str, args: &[String], from: &str) -> bool {
    match name {
        "findstr" | "more" => true,
        "select-string" | "sls" => {
            has_word("type cat gc get-content", from) || TOOLS.iter().any(|tool| has_word(tool.names, from))
        }
        "out-file" | "tee" | "tee-object" => {
            let is_valued = |arg: &&String| {
                let arg = arg.to_ascii_lowercase();
                arg.starts_with('-') && !has_word("-filepath -append", &arg)
            };
            let operands = args.iter().filter(|arg| !arg.starts_with('-')).count();
            operands > args.iter().filter(is_valued).count()
        }
        name => find(name).is_some_and(|listed| listed.takes == Takes::Text),
    }
}
