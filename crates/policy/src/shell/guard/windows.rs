//! Command lines for `cmd` and PowerShell: the documented Windows patterns, and a reader that gives up early.
//!
//! Invariant: what this reader cannot split into plain words is refused.

use super::field::Field;
use super::finding::{Finding, Kind, Remedy};
use super::options::Invocation;
use super::walk::{Input, Walker};
use crate::policy::Reach;
use regex::{RegexSet, RegexSetBuilder};
use std::sync::OnceLock;

/// Ways of PowerShell to hide what a command says.
const PATTERNS: &[&str] = &[
    r"\[(?:\w+\.)*text\.encoding\]",
    r"\s[-/]e(?:n|nc|nco|c|ncodedcommand)?(?:$|\s)",
    r"\.getstring\s*\(\s*\[byte\[\]",
    r"frombase64string\(",
    r"\$[a-z_]\w*\s*=\s*\[byte\[\]",
    r"\\u[0-9a-f]{4}",
    r"\b(iex|invoke-expression|invoke-command|icm|start-process|invoke-webrequest.*\|\s*iex)\b",
    r"\bremove-item\b.*\s-(r|rec|recurse|fo|force)",
    r"\b(ri|rm|rd|rmdir|del|erase)\b.*\s-(r|rec|recurse|fo|force)",
    r"\b(stop-computer|restart-computer|format-volume|clear-disk|initialize-disk|remove-partition)\b",
    r"\b(stop-process|spps|kill)\b.*\s-(f|force)",
    r"\b(bcdedit|vssadmin|cipher\s+/w|reg\s+(add|delete)|schtasks\s+/create|net\s+user|sc\s+(create|delete))\b",
];

/// Judges a Windows command line.
pub(super) fn follow(text: &str, walker: &mut Walker<'_>) {
    let lower = text.to_lowercase();
    if let Some(pattern) = first_match(&lower) {
        walker.deny("windows", &format!("a documented Windows pattern matches: `{pattern}`"), text);
    }
    if super::patterns::matching(text)
        .is_some_and(|pattern| !pattern.starts_with(r"\$") && !pattern.starts_with('`'))
    {
        walker.deny("windows", "a documented pattern matches", text);
    }
    if lower.contains(['^', '`', '%']) || lower.contains("$(") || lower.contains("${") || lower.contains("&(")
    {
        walker.not_understood("an escape, a variable or a substitution", text);
    }
    for command in text.split(['\n', ';', '&', '|']) {
        let Some(words) = split(command) else {
            walker.not_understood("quotes that never end", command);
            continue;
        };
        let [name, args @ ..] = words.as_slice() else { continue };
        let base = name.as_str().rsplit(['/', '\\']).next().unwrap_or_default();
        if base.starts_with('$') {
            walker.not_understood("the name of a command in a variable", command);
        }
        walker.families(&Invocation { name: base, args, input: &Input::Inherited }, &words);
        if walker.scene.reach == Reach::Workspace {
            words.iter().for_each(|word| judge_word(word.as_str(), walker));
        }
    }
}

fn first_match(lower: &str) -> Option<&'static str> {
    static SET: OnceLock<Option<RegexSet>> = OnceLock::new();
    match SET.get_or_init(|| RegexSetBuilder::new(PATTERNS).build().ok()) {
        Some(set) => set.matches(lower).iter().next().and_then(|at| PATTERNS.get(at).copied()),
        None => PATTERNS.first().copied(),
    }
}

/// Anything that can name a place beyond the working directory, unless it begins with the workspace's own name.
fn judge_word(word: &str, walker: &mut Walker<'_>) {
    let path = word.split_once('=').map_or(word, |(_, value)| value).replace('/', "\\");
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let climbs = path.split('\\').any(|part| part == "..");
    let elsewhere = drive
        || path.starts_with("\\\\")
        || path.starts_with('~')
        || path.to_lowercase().contains("$env:")
        || climbs;
    let own = |name: &crate::path::CleanPath| {
        let name = name.to_string().replace('/', "\\").to_lowercase();
        let path = path.to_lowercase();
        !climbs && (path == name || path.starts_with(&format!("{name}\\")))
    };
    if elsewhere && !walker.scene.zones.workspace.iter().any(own) {
        walker.report(Finding {
            kind: Kind::PathOutside,
            rule: "workspace".to_owned(),
            why: "it lies outside the workspace".to_owned(),
            words: word.to_owned(),
            remedy: Remedy::None,
        });
    }
}

/// Words between blanks, quotes removed; `None` when a quote never ends.
fn split(command: &str) -> Option<Vec<Field>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(Field::text(std::mem::take(&mut word)));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(Field::text(word));
    }
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use crate::config::{ExecConfig, Guard as Mode, OnBlock};
    use crate::path::CleanPath;
    use crate::policy::Reach;
    use crate::rules::PathRules;
    use crate::shell::guard::{Blank, Guard, Hold, Kind, Scene, Shell};
    use crate::zone::{Protected, Zones};
    use std::path::Path;

    fn found(text: &str) -> Option<Kind> {
        let guard = Guard::compile(&ExecConfig {
            enable_deny_patterns: true,
            custom_deny_patterns: Vec::new(),
            custom_allow_patterns: Vec::new(),
            timeout_seconds: 60,
            guard: Mode::Smart,
            fence: true,
            on_block: OnBlock::Deny,
        });
        let cwd = CleanPath::absolute(Path::new("/ws")).unwrap();
        let zones = Zones { workspace: vec![cwd.clone()], protected: Protected::default() };
        let rules = PathRules::default();
        let scene = Scene {
            zones: &zones,
            read_rules: &rules,
            write_rules: &rules,
            reach: Reach::Workspace,
            hold: Hold::Nothing,
            cwd: &cwd,
            home: None,
            shell: Shell::Windows,
            terrain: &Blank,
        };
        guard.unwrap().judge(text, &scene).finding.map(|finding| finding.kind)
    }

    #[test]
    fn windows_lines_are_judged_by_words_and_patterns() {
        for (why, text, want) in [
            ("a listing", "dir src", None),
            ("a file here", "type notes.txt", None),
            ("git", "git status", None),
            ("a build", "npm run build", None),
            ("a forced deletion", "del /f notes.txt", Some(Kind::Danger)),
            ("in capitals, behind another command", "dir & DEL /Q x", Some(Kind::Danger)),
            ("a recursive one", "rmdir /s build", Some(Kind::Danger)),
            ("of PowerShell", "Remove-Item -Recurse x", Some(Kind::Danger)),
            ("formatting", "format c:", Some(Kind::Danger)),
            ("diskpart", "diskpart.exe", Some(Kind::Danger)),
            ("power", "shutdown /s /t 0", Some(Kind::Danger)),
            ("an encoded command", "powershell -enc SQBFAFgA", Some(Kind::Danger)),
            ("a decoded one", "[Convert]::FromBase64String('eA==')", Some(Kind::Danger)),
            ("a string of bytes", "$x = [byte[]](1,2)", Some(Kind::Danger)),
            ("another encoding", "[System.Text.Encoding]::UTF8", Some(Kind::Danger)),
            ("run as it comes", "iex $x", Some(Kind::Danger)),
            ("publishing", "git push", Some(Kind::Danger)),
            ("by name", "taskkill /im node.exe", Some(Kind::Danger)),
            ("an escaped name", "d^el x", Some(Kind::NotUnderstood)),
            ("a variable", "type %USERPROFILE%\\x", Some(Kind::NotUnderstood)),
            ("another drive", "type C:\\Windows\\x", Some(Kind::PathOutside)),
            ("up", "type ..\\x", Some(Kind::PathOutside)),
            ("home", "type ~\\x", Some(Kind::PathOutside)),
            ("a share", "type \\\\server\\x", Some(Kind::PathOutside)),
            ("quotes that never end", "type \"x", Some(Kind::NotUnderstood)),
        ] {
            assert_eq!(found(text), want, "{why}: `{text}`");
        }
    }
}
