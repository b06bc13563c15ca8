//! A profile: what a program of the operator's needs in its cage besides the project.
//!
//! Parsing is strict. A key that is not known, a path that leaves the home or one that holds the
//! keys of other programs is a fault with its line.

use crate::config::{ExposeMode, nearest};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The profiles that come with the program.
pub const BUILT_IN_PROFILES: [(&str, &str); 2] =
    [("claude", include_str!("profiles/claude.toml")), ("codex", include_str!("profiles/codex.toml"))];

/// Directories of a home that hold the settings, logins and programs of many programs.
const SHARED: [&str; 7] =
    [".config", ".local", ".local/share", ".local/state", ".local/bin", ".cache", ".cargo"];

/// What holds private keys and passwords. A profile shows nothing of them.
const KEYS: [&str; 8] = [
    ".ssh",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".password-store",
    ".pki",
    ".local/share/keyrings",
    ".local/share/kwalletd",
];

/// What a program needs in its cage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Names of programs that it is for.
    pub programs: Vec<String>,
    /// Packages that bring these programs, as `npx` names them.
    pub packages: Vec<String>,
    /// What of the operator's home appears in the cage's.
    pub home: Vec<HomeEntry>,
    /// Variables that pass with their value.
    pub pass: Vec<String>,
    /// Variables that are set.
    pub env: Vec<(String, String)>,
    /// Arguments before those of the command line, for a program of `programs`.
    pub arguments: Vec<String>,
    /// Hosts that the program talks to.
    pub hosts: Vec<String>,
    /// What the operator is told about the program's own sandbox.
    pub note: Option<String>,
}

/// A file or directory of the operator's home, in the cage's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeEntry {
    /// Its path in the operator's home.
    pub path: PathBuf,
    /// Its path in the cage's home.
    pub to: PathBuf,
    /// Whether the program may write it.
    pub mode: ExposeMode,
}

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct ProfileFault {
    /// Starts at one.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

const KEYS_OF_PROFILE: [&str; 9] =
    ["description", "programs", "packages", "home", "pass", "env", "arguments", "hosts", "note"];
const KEYS_OF_HOME: [&str; 3] = ["path", "to", "access"];

impl Profile {
    /// Parses the profile `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileFault> {
        let root = DeTable::parse(text)
            .map_err(|why| fault(text, why.span().map_or(0, |span| span.start), why.message().to_owned()))?;
        let table = Table { text, at: 0, table: root.get_ref() };
        table.check_keys(&KEYS_OF_PROFILE)?;
        let profile = Self {
            name: name.to_owned(),
            description: table.string("description")?.unwrap_or_default(),
            programs: table.strings("programs", is_file_name, "the name of a program, without a path")?,
            packages: table.strings("packages", is_package, "the name of a package, without a version")?,
            home: table.tables("home")?.iter().map(HomeEntry::parse).collect::<Result<_, _>>()?,
            pass: table.strings("pass", is_variable, "the name of a variable")?,
            env: table.variables("env")?,
            arguments: table.strings("arguments", |text| !text.contains('\0'), "an argument")?,
            hosts: table.strings("hosts", is_host, "the name of a host")?,
            note: table.string("note")?,
        };
        Ok(profile)
    }

    /// Which word of a command line names a program that it is for: the first, or the package that
    /// `npx` or its like runs.
    pub fn program_at(&self, words: &[OsString]) -> Option<usize> {
        let name = |word: &OsString| Path::new(word).file_name()?.to_str().map(str::to_owned);
        let program = name(words.first()?)?;
        if self.programs.contains(&program) {
            return Some(0);
        }
        let runner = [words.first().and_then(name), words.get(1).and_then(name)];
        let mut at = match runner.each_ref().map(Option::as_deref) {
            [Some("npx" | "bunx"), _] => 1,
            [Some("pnpm"), Some("dlx")] => 2,
            _ => return None,
        };
        while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
            match word {
                "-p" | "--package" => at += 2,
                option if option.starts_with('-') => at += 1,
                package => {
                    let version = package.rfind('@').filter(|start| *start > 0);
                    let package = version.and_then(|start| package.get(..start)).unwrap_or(package);
                    let is_known = self.programs.iter().chain(&self.packages).any(|known| known == package);
                    return is_known.then_some(at);
                }
            }
        }
        None
    }
}

/// Whether `name` can be the name of a profile.
pub fn is_profile_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

/// Why a profile does not show `path` of a home; `None` if it may.
pub fn home_path_fault(path: &Path) -> Option<&'static str> {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if path.as_os_str().is_empty() || !is_plain {
        return Some("must be a path beneath the home, without `..`");
    }
    if SHARED.iter().any(|shared| path == Path::new(shared)) {
        return Some("belongs to many programs; name what this one needs of it");
    }
    KEYS.iter().any(|keys| path.starts_with(keys)).then_some("holds keys, which no profile shows")
}

impl HomeEntry {
    fn parse(table: &Table<'_>) -> Result<Self, ProfileFault> {
        table.check_keys(&KEYS_OF_HOME)?;
        let path = table.home_path("path")?.ok_or_else(|| table.fault("`home` wants a `path`"))?;
        let to = table.home_path("to")?.unwrap_or_else(|| path.clone());
        let mode = match table.string("access")?.as_deref() {
            Some("read-only") => ExposeMode::ReadOnly,
            Some("read-write") => ExposeMode::ReadWrite,
            _ => return Err(table.value_fault("access", "`access` is `read-only` or `read-write`")),
        };
        Ok(Self { path, to, mode })
    }
}

/// A table, and where it begins in the text.
struct Table<'t> {
    text: &'t str,
    at: usize,
    table: &'t DeTable<'t>,
}

impl<'t> Table<'t> {
    fn check_keys(&self, known: &[&'static str]) -> Result<(), ProfileFault> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let near = nearest(name, known.iter().copied());
                let near = near.map_or_else(String::new, |(near, _)| format!("; did you mean `{near}`?"));
                return Err(fault(self.text, key.span().start, format!("there is no key `{name}`{near}")));
            }
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    fn string(&self, key: &str) -> Result<Option<String>, ProfileFault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = value.get_ref().as_str().filter(|text| !text.chars().any(char::is_control));
        text.map(|text| Some(text.to_owned()))
            .ok_or_else(|| self.value_fault(key, &format!("`{key}` is one line of text")))
    }

    fn strings(
        &self,
        key: &str,
        is_valid: impl Fn(&str) -> bool,
        what: &str,
    ) -> Result<Vec<String>, ProfileFault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wrong = |at: usize| fault(self.text, at, format!("`{key}` is a list, and each entry {what}"));
        let items = value.get_ref().as_array().ok_or_else(|| wrong(value.span().start))?;
        let parse = |item: &Spanned<DeValue<'_>>| {
            let text = item.get_ref().as_str().filter(|text| is_valid(text));
            text.map(str::to_owned).ok_or_else(|| wrong(item.span().start))
        };
        items.iter().map(parse).collect()
    }

    fn tables(&self, key: &str) -> Result<Vec<Table<'t>>, ProfileFault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wrong = || self.value_fault(key, &format!("`{key}` is a list of tables: `[[{key}]]`"));
        let items = value.get_ref().as_array().ok_or_else(wrong)?;
        let parse = |item: &'t Spanned<DeValue<'t>>| {
            let table = item.get_ref().as_table().ok_or_else(wrong)?;
            Ok(Table { text: self.text, at: item.span().start, table })
        };
        items.iter().map(parse).collect()
    }

    fn variables(&self, key: &str) -> Result<Vec<(String, String)>, ProfileFault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let wrong = |at| fault(self.text, at, format!("`{key}` is a table of variables and their text"));
        let table = value.get_ref().as_table().ok_or_else(|| wrong(value.span().start))?;
        let parse = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &str = AsRef::<str>::as_ref(name.get_ref());
            let text = value.get_ref().as_str().filter(|text| is_variable(name) && !text.contains('\0'));
            text.map(|text| (name.to_owned(), text.to_owned())).ok_or_else(|| wrong(value.span().start))
        };
        table.iter().map(|(name, value)| parse((name, value))).collect()
    }

    /// A path beneath a home: neither the home itself nor what holds more than one program's files.
    fn home_path(&self, key: &str) -> Result<Option<PathBuf>, ProfileFault> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        match home_path_fault(Path::new(&text)) {
            Some(what) => Err(self.value_fault(key, &format!("`{text}` {what}"))),
            None => Ok(Some(Path::new(&text).components().collect())),
        }
    }

    fn fault(&self, message: &str) -> ProfileFault {
        fault(self.text, self.at, message.to_owned())
    }

    fn value_fault(&self, key: &str, message: &str) -> ProfileFault {
        fault(self.text, self.value(key).map_or(self.at, |value| value.span().start), message.to_owned())
    }
}

fn fault(text: &str, at: usize, message: String) -> ProfileFault {
    let before = text.get(..at).unwrap_or(text);
    ProfileFault { line: before.matches('\n').count() + 1, message }
}

fn is_file_name(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0'])
}

fn is_package(text: &str) -> bool {
    let name =
        text.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).map_or(text, |(_, name)| name);
    is_file_name(name) && !name.contains('@')
}

fn is_variable(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| is_plain(c) && !c.is_ascii_digit()) && text.chars().all(is_plain)
}

fn is_host(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:*".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_or_its_package() {
        let profile = Profile::parse("a", "programs = ['tool']\npackages = ['@vendor/tool-cli']\n").unwrap();
        for (line, want) in [
            ("tool", Some(0)),
            ("/usr/bin/tool -x", Some(0)),
            ("npx tool", Some(1)),
            ("npx @vendor/tool-cli", Some(1)),
            ("npx -y @vendor/tool-cli@1.2 -x", Some(2)),
            ("/usr/bin/npx --yes -- tool@latest", Some(3)),
            ("npx -p @vendor/tool-cli tool", Some(3)),
            ("npx --package=@vendor/tool-cli tool", Some(2)),
            ("bunx @vendor/tool-cli", Some(1)),
            ("pnpm dlx @vendor/tool-cli", Some(2)),
            ("npx", None),
            ("npx -y", None),
            ("npx -p", None),
            ("npx -p tool other", None),
            ("npx other tool", None),
            ("npx @other/tool-cli", None),
            ("npx tool-cli", None),
            ("pnpm tool", None),
            ("echo npx tool", None),
            ("./npx.sh tool", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(profile.program_at(&words), want, "{line}");
        }
        for wrong in ["", "@vendor/", "a/b", "tool@1", "@vendor/tool@1"] {
            let text = format!("packages = ['{wrong}']\n");
            assert!(Profile::parse("a", &text).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_built_in_profiles_are_profiles() {
        for (name, text) in BUILT_IN_PROFILES {
            let profile = Profile::parse(name, text).unwrap_or_else(|why| panic!("{name}:{why}"));
            assert_eq!(profile.program_at(&[format!("/usr/bin/{name}").into()]), Some(0), "{name}");
            assert_eq!(profile.program_at(&["/usr/bin/other".into()]), None, "{name}");
            assert!(!profile.hosts.is_empty() && profile.note.is_some(), "{name}");
            assert!(profile.home.iter().all(|entry| entry.mode == ExposeMode::ReadOnly), "{name}");
        }
    }

    #[test]
    fn a_profile_says_what_it_says() {
        let text = "programs = ['a']\nenv.B = 'c'\npass = ['D']\n\
                    [[home]]\npath = '.a//b/'\nto = '.c'\naccess = 'read-write'\n";
        let profile = Profile::parse("a", text).unwrap();
        let entry = HomeEntry { path: ".a/b".into(), to: ".c".into(), mode: ExposeMode::ReadWrite };
        assert_eq!(profile.home, [entry]);
        assert_eq!(profile.env, [("B".to_owned(), "c".to_owned())]);
        assert_eq!(profile.pass, ["D"]);
    }

    #[test]
    fn a_fault_has_its_line() {
        let home = |line: &str| format!("programs = ['a']\n[[home]]\n{line}\naccess = 'read-only'");
        for (why, text, line, said) in [
            ("no TOML", "programs = [".to_owned(), 1, "array"),
            ("a slip", "programs = []\nprogram = 'a'".to_owned(), 2, "did you mean `programs`?"),
            ("a slip below", home("pth = '.a'"), 3, "did you mean `path`?"),
            ("a list", "programs = 'a'".to_owned(), 1, "is a list"),
            ("a program with a path", "programs = ['a',\n'/b']".to_owned(), 2, "without a path"),
            ("no variable", "pass = ['A=B']".to_owned(), 1, "the name of a variable"),
            ("no variable in the table", "[env]\n'A=B' = 'c'".to_owned(), 2, "a table of variables"),
            ("no text", "[env]\nA = 1".to_owned(), 2, "a table of variables"),
            ("control characters", "note = \"a\\u001bb\"".to_owned(), 1, "one line"),
            ("no path", home("to = '.a'"), 2, "wants a `path`"),
            ("out of the home", home("path = '../b'"), 3, "without `..`"),
            ("in between", home("path = '.a/../../b'"), 3, "without `..`"),
            ("absolute", home("path = '/etc/shadow'"), 3, "beneath the home"),
            ("the home", home("path = '.'"), 3, "beneath the home"),
            ("nothing", home("path = ''"), 3, "beneath the home"),
            ("all settings", home("path = '.config/'"), 3, "many programs"),
            ("keys", home("path = '.ssh'"), 3, "holds keys"),
            ("a key", home("path = './/.ssh/id_ed25519'"), 3, "beneath the home"),
            ("a key in the directory", home("path = '.ssh//id_ed25519'"), 3, "holds keys"),
            ("keys inside", home("path = '.a'\nto = '.ssh'"), 4, "holds keys"),
            ("no access", "[[home]]\npath = '.a'".to_owned(), 1, "`access` is"),
            ("another access", "[[home]]\npath = '.a'\naccess = 'rw'".to_owned(), 3, "`access` is"),
            ("no tables", "home = ['.a']".to_owned(), 1, "list of tables"),
        ] {
            let fault = Profile::parse("a", &text).unwrap_err();
            assert_eq!(fault.line, line, "{why}: {fault}");
            assert!(fault.message.contains(said), "{why}: {fault}");
        }
    }

    #[test]
    fn names_are_plain() {
        for (name, want) in [("claude", true), ("my-2_x", true), ("", false), ("../a", false), ("A", false)] {
            assert_eq!(is_profile_name(name), want, "{name}");
        }
    }
}
