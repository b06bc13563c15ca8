//! What a command that was run in a cage may have missed, as far as its words tell: the program,
//! and those of a shell's line.

use picoclaw_policy::shell::guard::is_shell;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

/// The words of a command.
#[derive(Debug)]
pub(crate) struct CommandText {
    /// Each program with its arguments, without wrappers.
    commands: Vec<Vec<String>>,
    /// The line of a shell.
    line: Option<String>,
    /// Whether a word names a descriptor beyond the standard streams.
    has_descriptor: bool,
}

/// What separates commands in a line, and words in a command.
const BETWEEN_COMMANDS: [char; 6] = [';', '|', '&', '(', ')', '\n'];
const BETWEEN_WORDS: [char; 7] = [' ', '\t', '<', '>', '"', '\'', '='];

const DEBUGGERS: [&str; 9] =
    ["gdb", "lldb", "rust-gdb", "rust-lldb", "strace", "ltrace", "perf", "rr", "gdbserver"];
/// Those of them that have a prompt.
const PROMPTS: usize = 4;

const BROWSERS: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "electron",
];

/// What a cage does not let programs do, whatever the flags: programs, arguments of which one is
/// needed if there are any, and why not.
const REFUSED: [(&str, &str, &str); 5] = [
    ("sudo su doas pkexec runuser", "", "has one user, which `{}` cannot change; run the command without it"),
    ("chown chgrp", "", "has one user, and `{}` cannot give files to another"),
    ("mount umount mknod losetup setcap chattr", "", "has no capability for `{}`, and no flag gives one"),
    ("unshare bwrap podman flatpak", "", "cannot hold another: `{}` gets no namespaces in it"),
    (
        "apt apt-get dpkg dnf yum apk pacman",
        "install remove purge update upgrade add del -i -r -S",
        "has the system read-only: `{}` works outside",
    ),
];

/// Programs that write hooks into a git directory.
const HOOK_WRITERS: [(&str, &str); 4] =
    [("pre-commit", "install"), ("husky", ""), ("lefthook", "install"), ("git", "lfs")];

/// Options of programs that fetch nothing then.
const NOT_FETCHING: [&str; 4] = ["--offline", "--no-index", "--frozen", "--no-install"];

/// Programs that fetch packages, with their commands that do; none is all of them.
const FETCHING: [(&str, &str); 21] = [
    ("pip", "install download wheel"),
    ("pip3", "install download wheel"),
    ("pipx", "install run upgrade"),
    ("uv", "add sync lock run tool pip"),
    ("uvx", ""),
    ("poetry", "install add lock update"),
    ("npm", "install i ci add update exec create view outdated audit"),
    ("npx", ""),
    ("pnpm", "install i add dlx update"),
    ("yarn", ""),
    ("bun", "install add x create"),
    ("cargo", "add install update fetch build b check c doc search vendor"),
    ("go", "get mod install build list"),
    ("gem", "install update"),
    ("bundle", ""),
    ("composer", ""),
    ("mvn", ""),
    ("mvnw", ""),
    ("gradle", ""),
    ("gradlew", ""),
    ("dotnet", "restore build add"),
];

/// Programs that only look at files, and fail for other reasons; and programs that remove or move
/// whole trees.
const READERS: [&str; 14] =
    ["cat", "cmp", "diff", "egrep", "file", "find", "grep", "head", "ls", "rg", "stat", "tail", "test", "["];
const REMOVERS: [&str; 4] = ["mv", "rm", "rmdir", "rsync"];

/// Commands of git that change or remove what is protected without naming it.
const GIT_COMMANDS: [&str; 6] = ["clean", "worktree", "submodule", "lfs", "init", "remote"];
/// What only reads, of those.
const GIT_READS: [&str; 7] = ["list", "show", "status", "summary", "get-url", "-v", "--verbose"];

impl CommandText {
    pub(crate) fn of(command: &[OsString]) -> Self {
        let words: Vec<Cow<'_, str>> = command.iter().map(|word| word.to_string_lossy()).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let words = without_wrappers(&words);
        let is_line = |word: &str| word.starts_with('-') && word.ends_with('c');
        let is_shell = words.first().is_some_and(|first| is_shell(file_name(first)));
        let line = words.iter().skip_while(|word| !is_line(word)).nth(1).filter(|_| is_shell);
        let of_line = line.into_iter().flat_map(|line| line.split(BETWEEN_COMMANDS)).map(|part| {
            let words: Vec<&str> = part.split_whitespace().collect();
            own(without_wrappers(&words))
        });
        // A line is no word: its own words are.
        let direct: Vec<&str> = words.iter().copied().filter(|word| Some(word) != line).collect();
        let commands = [own(&direct)].into_iter().chain(of_line).collect();
        let has_descriptor = words.iter().any(|word| names_descriptor(word));
        Self { commands, line: line.map(|line| (*line).to_owned()), has_descriptor }
    }

    /// Everything that may be a path.
    pub(crate) fn words(&self) -> Vec<OsString> {
        self.words_of(|_| true)
    }

    /// What may be a path that is changed.
    pub(crate) fn changed_words(&self) -> Vec<OsString> {
        self.words_of(|program| !READERS.contains(&program))
    }

    /// What may be a path that is removed or moved, with all that is in it.
    pub(crate) fn removed_words(&self) -> Vec<OsString> {
        self.words_of(|program| REMOVERS.contains(&program))
    }

    /// The programs that are looked up in `PATH`.
    pub(crate) fn program_names(&self) -> impl Iterator<Item = &OsStr> {
        let names = self.commands.iter().filter_map(|command| command.first());
        names.filter(|name| !name.contains('/')).map(OsStr::new)
    }

    fn words_of(&self, is_counted: impl Fn(&str) -> bool) -> Vec<OsString> {
        let counted =
            |command: &&Vec<String>| is_counted(command.first().map_or("", |first| file_name(first)));
        let words = self.commands.iter().filter(counted).flatten().flat_map(|word| word.split(BETWEEN_WORDS));
        words.filter(|word| !word.is_empty() && !word.starts_with('-')).map(OsString::from).collect()
    }

    /// The program that traces other processes.
    pub(crate) fn debugger(&self) -> Option<&'static str> {
        self.program(&DEBUGGERS)
    }

    /// The debugger with a prompt, which succeeds whatever it could not trace.
    pub(crate) fn debugger_with_prompt(&self) -> Option<&'static str> {
        let command = self.commands.first()?;
        let is_asked_about = command.iter().any(|word| ["--version", "--help"].contains(&word.as_str()));
        let first = file_name(command.first()?);
        DEBUGGERS[..PROMPTS].iter().find(|known| **known == first && !is_asked_about).copied()
    }

    /// What a cage does not let its program do, in words.
    pub(crate) fn refused(&self) -> Option<String> {
        let refused = |command: &Vec<String>| {
            let (program, arguments) = command.split_first()?;
            let name = file_name(program);
            let (_, needed, why) =
                REFUSED.iter().find(|(names, ..)| names.split(' ').any(|known| known == name))?;
            let is_one =
                |argument: &String| needed.is_empty() || needed.split(' ').any(|word| word == argument);
            arguments.iter().any(is_one).then(|| why.replace("{}", name))
        };
        self.commands.iter().find_map(refused)
    }

    /// Whether it is a line of a shell.
    pub(crate) fn is_line(&self) -> bool {
        self.line.is_some()
    }

    /// Whether one of its programs is git.
    pub(crate) fn runs_git(&self) -> bool {
        self.program(&["git"]).is_some()
    }

    /// Whether a program writes hooks of git.
    pub(crate) fn writes_hooks(&self) -> bool {
        self.commands.iter().any(|command| {
            let Some((program, arguments)) = command.split_first() else { return false };
            let is_one = |word: &str| word.is_empty() || arguments.iter().any(|argument| argument == word);
            HOOK_WRITERS.iter().any(|(name, word)| *name == file_name(program) && is_one(word))
        })
    }

    /// Variables of the environment that a shell's line names: `$NAME`, `${NAME}`.
    pub(crate) fn variables(&self) -> Vec<&str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let line = self.line.as_deref().unwrap_or_default();
        let is_own = |name: &str| {
            let sets = |before: &str| line.contains(&format!("{before} {name}"));
            ["", "_", "SHLVL", "OLDPWD"].contains(&name)
                || line.contains(&format!("{name}="))
                || sets("for")
                || sets("read")
        };
        // Between single quotes nothing is expanded.
        let open = line.split('\'').step_by(2);
        let parts = open.flat_map(|part| {
            let escaped = |at: usize| part.get(..at).is_some_and(|before| before.ends_with('\\'));
            part.match_indices('$')
                .filter(move |(at, _)| !escaped(*at))
                .filter_map(|(at, _)| part.get(at + 1..))
        });
        let names = parts.map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            rest.split(|c| !is_name(c)).next().unwrap_or_default()
        });
        names.filter(|name| !is_own(name)).collect()
    }

    /// Whether it reads a descriptor that its parent's shell may have opened: `<&3`.
    pub(crate) fn uses_descriptors(&self) -> bool {
        self.has_descriptor
    }

    /// The browser that starts a sandbox of its own.
    pub(crate) fn sandboxed_browser(&self) -> Option<&'static str> {
        let is_off = |word: &String| word.contains("--no-sandbox");
        self.program(&BROWSERS).filter(|_| !self.commands.iter().flatten().any(is_off))
    }

    /// Whether a program fetches packages, which it does not try without a network.
    pub(crate) fn fetches_packages(&self) -> bool {
        self.commands.iter().any(|command| {
            // `python3 -m pip install`
            let at = command.iter().position(|word| word == "-m").map_or(0, |at| at + 1);
            let Some((program, arguments)) = command.get(at..).and_then(<[String]>::split_first) else {
                return false;
            };
            let known = FETCHING.iter().find(|(name, _)| *name == file_name(program));
            known.is_some_and(|(_, commands)| {
                let is_one = |word: &String| commands.split(' ').any(|known| known == word);
                let is_offline = arguments.iter().any(|word| NOT_FETCHING.contains(&word.as_str()));
                !is_offline && (commands.is_empty() || arguments.iter().any(is_one))
            })
        })
    }

    /// Whether git does something to all of its work tree.
    pub(crate) fn changes_work_tree(&self) -> bool {
        self.commands.iter().any(|command| {
            let is_git = command.first().is_some_and(|first| file_name(first) == "git");
            let names = |words: &[&str]| command.iter().any(|word| words.contains(&word.as_str()));
            is_git && names(&GIT_COMMANDS) && !names(&GIT_READS)
        })
    }

    /// The first of `programs` that it runs.
    fn program(&self, programs: &[&'static str]) -> Option<&'static str> {
        let run = self.commands.iter().filter_map(|command| Some(file_name(command.first()?)));
        run.into_iter().find_map(|name| programs.iter().find(|known| **known == name).copied())
    }
}

/// Whether a word reads or writes a descriptor beyond the standard streams that it does not open
/// itself: `/dev/fd/63`, `<&3`.
fn names_descriptor(word: &str) -> bool {
    let is_opened =
        |number: char| [format!("{number}<"), format!("{number}>")].iter().any(|open| word.contains(open));
    let is_other = |rest: &str| {
        rest.chars().next().is_some_and(|number| ('3'..='9').contains(&number) && !is_opened(number))
    };
    word.starts_with("/dev/fd/") || word.split("<&").skip(1).chain(word.split(">&").skip(1)).any(is_other)
}

fn own(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
}

/// A command without the programs that only run another, their options and numbers, and
/// assignments.
fn without_wrappers<'s, 't>(words: &'s [&'t str]) -> &'s [&'t str] {
    const WRAPPERS: [&str; 15] = [
        "env",
        "exec",
        "command",
        "timeout",
        "time",
        "nice",
        "ionice",
        "nohup",
        "setsid",
        "stdbuf",
        "taskset",
        "chrt",
        "xvfb-run",
        "dbus-run-session",
        "dbus-launch",
    ];
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut is_wrapped = false;
    let at = words.iter().position(|word| {
        let is_wrapper = WRAPPERS.contains(&file_name(word));
        let is_skipped = word.contains('=') || is_wrapped && (word.starts_with('-') || is_number(word));
        is_wrapped |= is_wrapper;
        !is_wrapper && !is_skipped
    });
    at.map_or(&[], |at| &words[at..])
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> CommandText {
        CommandText::of(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_a_command_may_have_missed_is_seen_in_its_words() {
        for (why, words, fetches, work_tree) in [
            ("a package", &["pip", "install", "six"][..], true, false),
            ("as a module", &["v/bin/python3", "-m", "pip", "install", "six"], true, false),
            ("in a line", &["sh", "-c", "cd x && npm ci"], true, false),
            ("a package of the project", &["pip", "install", "--no-index", "."], false, false),
            ("no package", &["npm", "test"], false, false),
            ("tests that fail", &["cargo", "test"], false, false),
            ("a program by its name alone", &["npx", "-y", "cowsay"], true, false),
            ("git cleans", &["git", "clean", "-fdx"], false, true),
            ("git looks", &["git", "status"], false, false),
            ("git lists", &["git", "worktree", "list"], false, false),
            ("nothing", &[], false, false),
        ] {
            let text = text(words);
            assert_eq!((text.fetches_packages(), text.changes_work_tree()), (fetches, work_tree), "{why}");
        }
    }

    #[test]
    fn variables_and_descriptors_of_a_line_are_seen() {
        let line = "echo \"$FOO\" ${BAR:-x} $1 $? a$ ${} '$NO' \\$NO $_ $OLDPWD 2>&1 <&0; X=1; echo $X; for i in a; do $i; done";
        let line = text(&["sh", "-c", line]);
        assert_eq!(line.variables(), ["FOO", "BAR", "1"]);
        assert!(!line.uses_descriptors());
        assert!(text(&["grep", "$FOO", "f"]).variables().is_empty(), "no shell reads it");
        assert!(!text(&["sh", "-c", "exec 3>log; make >&3"]).uses_descriptors(), "its own");
        for word in ["cat <&5", "echo >&9", "/dev/fd/63"] {
            assert!(text(&["sh", "-c", word]).uses_descriptors(), "{word}");
        }
    }

    #[test]
    fn the_words_of_a_line_are_words() {
        let words = text(&["bash", "-c", "X=1 cp -r 'b' \"/c\" >../d; cat e"]).words();
        assert_eq!(words, ["bash", "cp", "b", "/c", "../d", "cat", "e"].map(OsString::from));
        assert_eq!(text(&["cmake", "--prefix=/x"]).words(), ["cmake", "/x"].map(OsString::from));
        let line = text(&["sh", "-c", "grep x .envrc; rm -rf sub; echo y >z"]);
        assert_eq!(line.changed_words(), ["sh", "rm", "sub", "echo", "y", "z"].map(OsString::from));
        assert_eq!(line.removed_words(), ["rm", "sub"].map(OsString::from));
    }
}
