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

/// Programs that act as another user.
const USER_SWITCHERS: [&str; 5] = ["sudo", "su", "doas", "pkexec", "runuser"];

/// Programs that fetch packages, with their commands that do; none is all of them.
const FETCHING: [(&str, &str); 24] = [
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
    ("rustup", ""),
    ("apt", ""),
    ("apt-get", ""),
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
        Self { commands: [own(&direct)].into_iter().chain(of_line).collect() }
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

    /// The program that acts as another user, of which a cage has none.
    pub(crate) fn user_switcher(&self) -> Option<&'static str> {
        self.program(&USER_SWITCHERS)
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
                commands.is_empty() || arguments.iter().any(is_one)
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
    fn the_words_of_a_line_are_words() {
        let words = text(&["bash", "-c", "X=1 cp -r 'b' \"/c\" >../d; cat e"]).words();
        assert_eq!(words, ["bash", "cp", "b", "/c", "../d", "cat", "e"].map(OsString::from));
        assert_eq!(text(&["cmake", "--prefix=/x"]).words(), ["cmake", "/x"].map(OsString::from));
        let line = text(&["sh", "-c", "grep x .envrc; rm -rf sub; echo y >z"]);
        assert_eq!(line.changed_words(), ["sh", "rm", "sub", "echo", "y", "z"].map(OsString::from));
        assert_eq!(line.removed_words(), ["rm", "sub"].map(OsString::from));
    }
}
