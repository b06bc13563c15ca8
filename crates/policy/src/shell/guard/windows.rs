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
        walker.families(&Invocation { name: base, args, input: &Input::Inherited });
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
                    words.push(Field(std::mem::take(&mut word)));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(Field(word));
    }
    quote.is_none().then_some(words)
}
