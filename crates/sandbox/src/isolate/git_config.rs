//! The part of the user's git configuration that commands may have: identity, aliases and tastes.
//!
//! Invariant: nothing that names a program, a file or a credential passes, and no alias that runs a shell.

use super::git_settings::{GitSetting, git_settings};
use crate::os_file::read_regular_file;
use std::path::Path;

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

/// The text of a configuration file with what passes of `~/.config/git/config` and `~/.gitconfig`.
pub fn filtered_git_config(home: &Path) -> String {
    let files = [home.join(".config/git/config"), home.join(".gitconfig")];
    files.iter().filter_map(|file| read_git_config(file)).map(|text| filtered(&text)).collect()
}

/// The text of a regular file; `None` for anything else.
pub(super) fn read_git_config(path: &Path) -> Option<String> {
    String::from_utf8(read_regular_file(path, MAX_BYTES).ok()?).ok()
}

fn filtered(text: &str) -> String {
    let mut passed = String::new();
    // A section with a subsection (`[url "…"]`) passes nothing.
    for setting in git_settings(text.as_bytes()).into_iter().filter(|setting| !setting.has_subsection) {
        let GitSetting { section, name, value, .. } = setting;
        let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
        if passes(&section, &name, value.as_deref().unwrap_or_default()) {
            let quoted = |value: String| value.replace('\\', "\\\\").replace('"', "\\\"");
            let value = value.map(|value| format!(" = \"{}\"", quoted(value))).unwrap_or_default();
            passed.push_str(&format!("[{section}]\n\t{name}{value}\n"));
        }
    }
    passed
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
            assert_eq!(filtered(text), want, "{why}");
        }
    }
}
