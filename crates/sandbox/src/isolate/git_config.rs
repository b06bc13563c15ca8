//! The part of the user's git configuration that commands may have: identity, aliases and tastes.
//!
//! Invariant: nothing that names a program, a file or a credential passes, and no alias that runs a
//! shell. The one exception is git-lfs, without which a repository with large files is taken for a
//! changed one.

use super::git_settings::{GitSetting, git_settings};
use crate::os_file::read_regular_file;
use std::path::{Path, PathBuf};

/// The largest configuration file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Sections that pass as a whole: they choose colours and amounts of text.
const SECTIONS: [&str; 5] = ["advice", "color", "column", "status", "log"];

/// Single keys that pass, in lower case.
const KEYS: [&str; 31] = [
    "user.name",
    "user.email",
    "init.defaultbranch",
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.quotepath",
    "core.safecrlf",
    "core.whitespace",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "commit.verbose",
    "diff.algorithm",
    "diff.colormoved",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "fetch.prune",
    "help.autocorrect",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "tag.sort",
    "versionsort.suffix",
];

/// The most files that are read: they include each other.
const MAX_FILES: usize = 32;

/// The settings of `filter.lfs` as `git lfs install` writes them.
const LFS: [(&str, &str); 4] = [
    ("clean", "git-lfs clean -- %f"),
    ("smudge", "git-lfs smudge -- %f"),
    ("process", "git-lfs filter-process"),
    ("required", "true"),
];

/// What commands may have of the operator's git configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PassedGitConfig {
    /// The text of a configuration file.
    pub config: String,
    /// The text of the file that names what git ignores in every repository.
    pub ignored: String,
}

impl PassedGitConfig {
    /// What passes of `~/.config/git/config`, `~/.gitconfig` and what they include for a repository
    /// at `project`.
    pub fn of(home: &Path, project: &Path) -> Self {
        let ignore = home.join(".config/git/ignore");
        let mut reader = Reader { home, project, config: String::new(), ignore, files_left: MAX_FILES };
        for name in [".config/git/config", ".gitconfig"] {
            reader.read(&home.join(name));
        }
        Self { config: reader.config, ignored: read_git_config(&reader.ignore).unwrap_or_default() }
    }

    /// The configuration of a command that sees what is ignored in the file `ignored`.
    pub fn config_with_ignored(&self, ignored: &Path) -> String {
        format!("{}[core]\n\texcludesFile = \"{}\"\n", self.config, quoted(&ignored.to_string_lossy()))
    }
}

struct Reader<'r> {
    home: &'r Path,
    project: &'r Path,
    config: String,
    ignore: PathBuf,
    files_left: usize,
}

impl Reader<'_> {
    fn read(&mut self, file: &Path) {
        let Some(files_left) = self.files_left.checked_sub(1) else { return };
        self.files_left = files_left;
        let text = read_git_config(file).unwrap_or_default();
        for GitSetting { section, subsection, name, value } in git_settings(text.as_bytes()) {
            let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
            let given = value.as_deref().unwrap_or_default();
            let condition = subsection.as_deref().map(String::from_utf8_lossy);
            let is_included = match (section.as_str(), &condition) {
                ("include", None) => true,
                ("includeif", Some(condition)) => self.is_met(condition, file),
                _ => false,
            };
            if is_included && name == "path" {
                self.read(&file.with_file_name(self.expanded(given)));
            } else if (section.as_str(), name.as_str()) == ("core", "excludesfile") && subsection.is_none() {
                self.ignore = self.expanded(given);
            } else if subsection.is_none() && passes(&section, &name, given) {
                let value = value.map(|value| format!(" = \"{}\"", quoted(&value))).unwrap_or_default();
                self.config.push_str(&format!("[{section}]\n\t{name}{value}\n"));
            } else if section == "filter"
                && subsection.as_deref() == Some(b"lfs")
                && LFS.contains(&(name.as_str(), given))
            {
                self.config.push_str(&format!("[filter \"lfs\"]\n\t{name} = {given}\n"));
            }
        }
    }

    fn expanded(&self, path: &str) -> PathBuf {
        path.strip_prefix("~/").map_or_else(|| path.into(), |below| self.home.join(below))
    }

    /// Whether the condition of an `includeIf` is met: `gitdir:` with a path that has no wildcard
    /// but a last `**`.
    fn is_met(&self, condition: &str, file: &Path) -> bool {
        let pattern = condition.strip_prefix("gitdir:").or_else(|| condition.strip_prefix("gitdir/i:"));
        let pattern = pattern.map(|pattern| pattern.strip_suffix("**").unwrap_or(pattern));
        let is_plain = |pattern: &&str| !pattern.is_empty() && !pattern.contains(['*', '?', '[', '\\']);
        let Some(pattern) = pattern.filter(is_plain) else { return false };
        let path = match pattern.strip_prefix("./") {
            Some(below) => file.with_file_name(below),
            None => self.expanded(pattern),
        };
        let real = if path.is_absolute() { path.canonicalize().ok() } else { None };
        let git_dir = self.project.join(".git");
        // A directory stands for all that is in it; a path that is not absolute may lie anywhere.
        let mut places = git_dir.ancestors().take(if pattern.ends_with('/') { usize::MAX } else { 1 });
        places.any(|place| place.ends_with(&path) || Some(place) == real.as_deref())
    }
}

/// The text of a regular file; `None` for anything else.
pub(super) fn read_git_config(path: &Path) -> Option<String> {
    String::from_utf8(read_regular_file(path, MAX_BYTES).ok()?).ok()
}

fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

fn passes(section: &str, key: &str, value: &str) -> bool {
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
    };
    if !is_name(section) || !is_name(key) || value.chars().any(char::is_control) {
        return false;
    }
    match section {
        // Git runs what follows a `!` in a shell, also within quotes.
        "alias" => !value.contains('!'),
        // The name of a key, not of a file with one.
        "user" if key == "signingkey" => !value.contains('/'),
        section if SECTIONS.contains(&section) => true,
        _ => KEYS.contains(&format!("{section}.{key}").as_str()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its files by path")]
mod tests {
    use super::*;

    #[test]
    fn tastes_pass_and_programs_do_not() {
        for (why, text, want) in [
            ("identity", "[user]\n\tname = A B # me\n", "[user]\n\tname = \"A B\"\n"),
            (
                "the name of a key, and a file with one",
                "[user]\nsigningkey = 0xABCD\nsigningkey = ~/.ssh/id.pub\n",
                "[user]\n\tsigningkey = \"0xABCD\"\n",
            ),
            ("an alias", "[alias]\nst = status -sb\n", "[alias]\n\tst = \"status -sb\"\n"),
            ("an alias that runs a shell", "[alias]\nx = !rm -rf /\ny = \"!id\"\n", ""),
            ("a helper with credentials", "[credential]\nhelper = store\n", ""),
            ("a program for a subsection", "[credential \"https://x\"]\nhelper = !id\n", ""),
            ("programs of core", "[core]\nfsmonitor = /x\nhooksPath = /x\npager = id\nsshCommand = id\n", ""),
            ("another file", "[include]\npath = /etc/shadow\n", ""),
            (
                "a program for one kind of diff",
                "[diff]\nexternal = id\nalgorithm = patience\n",
                "[diff]\n\talgorithm = \"patience\"\n",
            ),
            ("a key without a value", "[rerere]\nenabled\n", "[rerere]\n\tenabled\n"),
            ("a value over two lines", "[alias]\nx = a \\\n!id\ny = log\n", "[alias]\n\ty = \"log\"\n"),
            ("a subsection", "[alias \"\"]\nx = log\n[color.x]\nui = no\n[color \"x\"]\nui = no\n", ""),
            ("quotes", "[alias]\nx = log \\\"a\\\\ # b\n", "[alias]\n\tx = \"log \\\"a\\\\\"\n"),
            ("a line break in a value", "[alias]\nx = a\\n[core]\n", ""),
            ("a section on one line with its key", "[core] fsmonitor = id\n", ""),
            (
                "a key in another letter case",
                "[INIT]\nDefaultBranch=main\n",
                "[init]\n\tdefaultbranch = \"main\"\n",
            ),
        ] {
            let home = tempfile::tempdir().unwrap();
            std::fs::write(home.path().join(".gitconfig"), text).unwrap();
            assert_eq!(PassedGitConfig::of(home.path(), Path::new("/p")).config, want, "{why}");
        }
    }

    #[test]
    fn the_identity_of_a_directory_is_included() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let project = home.join("work/x");
        std::fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(home.join("work"), home.join("link")).unwrap();
        std::fs::write(home.join("work.inc"), "[user]\nemail = w\n[core]\npager = id\n").unwrap();
        let is_included = |condition: &str| {
            let text = format!("[user]\nemail = p\n[{condition}]\npath = work.inc\n");
            std::fs::write(home.join(".gitconfig"), text).unwrap();
            let config = PassedGitConfig::of(&home, &project).config;
            assert!(!config.contains("pager"), "{config}");
            config == "[user]\n\temail = \"p\"\n[user]\n\temail = \"w\"\n"
        };
        let absolute = format!("includeIf \"gitdir:{}/work/\"", home.display());
        for condition in [
            "include",
            "includeIf \"gitdir:~/work/\"",
            "includeIf \"gitdir/i:~/work/**\"",
            "includeIf \"gitdir:./work/\"",
            "includeIf \"gitdir:work/\"",
            "includeIf \"gitdir:~/link/\"",
            "includeIf \"gitdir:~/work/x/.git\"",
            &absolute,
        ] {
            assert!(is_included(condition), "{condition}");
        }
        for condition in [
            "includeIf \"gitdir:~/other/\"",
            "includeIf \"gitdir:ork/\"",
            "includeIf \"gitdir:~/wor/\"",
            "includeIf \"gitdir:~/work\"",
            "includeIf \"gitdir:~/*/\"",
            "includeIf \"onbranch:main\"",
            "includeIf \"gitdir:\"",
            "include \"x\"",
            "includeIf",
        ] {
            assert!(!is_included(condition), "{condition}");
        }
        std::fs::write(home.join(".gitconfig"), "[include]\npath = .gitconfig\n[user]\nname = n\n").unwrap();
        assert!(PassedGitConfig::of(&home, &project).config.len() < 1000, "a file that includes itself");
    }

    #[test]
    fn what_is_ignored_everywhere_and_git_lfs_pass() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        std::fs::create_dir_all(home.join(".config/git")).unwrap();
        std::fs::write(home.join(".config/git/ignore"), ".idea\n").unwrap();
        assert_eq!(PassedGitConfig::of(home, home).ignored, ".idea\n");
        std::fs::write(home.join("ignored"), "*.swp\n").unwrap();
        let lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n";
        let other = "[filter \"lfs\"]\nsmudge = id\n[filter \"x\"]\nclean = git-lfs clean -- %f\n";
        std::fs::write(home.join(".gitconfig"), format!("[core]\nexcludesFile = ~/ignored\n{lfs}{other}"))
            .unwrap();
        assert_eq!(
            PassedGitConfig::of(home, home),
            PassedGitConfig { config: lfs.into(), ignored: "*.swp\n".into() }
        );
    }
}
