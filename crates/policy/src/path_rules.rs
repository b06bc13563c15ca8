//! Allow-path rules: regular expressions over absolute paths.

use crate::path::CleanPath;
use regex::{Regex, RegexBuilder};
use std::path::{Path, PathBuf};

/// Size limit of one compiled pattern, in bytes.
const MAX_PATTERN_SIZE: usize = 1 << 20;

/// A pattern that is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a regular expression: {why}")]
pub struct RuleFault {
    /// The pattern as written.
    pub pattern: String,
    /// The regex compiler's message.
    pub why: String,
}

/// Patterns that open paths outside the workspace.
#[derive(Debug, Clone, Default)]
pub struct PathRules(Vec<Regex>);

impl PathRules {
    /// Compiles every pattern, or returns the first that does not compile.
    pub fn compile<S: AsRef<str>>(patterns: &[S]) -> Result<Self, RuleFault> {
        patterns.iter().map(|pattern| compile_pattern(pattern.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// The first pattern that matches `path`. A path that is not UTF-8 matches none.
    pub fn matching(&self, path: &Path) -> Option<&str> {
        let text = path.to_str()?;
        self.0.iter().find(|rule| rule.is_match(text)).map(Regex::as_str)
    }
}

/// What a pattern names literally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiteralPath {
    /// A directory and everything beneath it, as in `^/srv/out(?:/|$)`, `^/srv/out/.*` or
    /// `^/srv/out/`.
    Directory(PathBuf),
    /// One path, as in `^/etc/hosts$`.
    Exact(PathBuf),
}

/// The path that a pattern names literally, if it does.
pub fn literal_path(pattern: &str) -> Option<LiteralPath> {
    const ENDS: &[&str] = &["(?:/|$)", "(/|$)", "/.*$", "/.*", "/"];
    let rest = pattern.strip_prefix('^')?;
    let literal = |rest| match literal_text(rest) {
        (text, "") => CleanPath::absolute(Path::new(&text)).map(|path| path.as_path().to_owned()),
        _ => None,
    };
    match ENDS.iter().find_map(|end| rest.strip_suffix(end)) {
        Some(rest) => literal(rest).map(LiteralPath::Directory),
        None => literal(rest.strip_suffix('$')?).map(LiteralPath::Exact),
    }
}

/// The directory beneath which everything that a pattern matches lies; `None` for the root, and for
/// a pattern that is not anchored.
pub fn literal_prefix(pattern: &str) -> Option<PathBuf> {
    let (text, rest) = literal_text(pattern.strip_prefix('^')?);
    // An alternative at the top level is not anchored, and a repetition may drop the last
    // character.
    if rest.contains('|') {
        return None;
    }
    let directory = text.rsplit_once('/').map(|(directory, _)| directory)?;
    CleanPath::absolute(Path::new(directory))
        .map(|path| path.as_path().to_owned())
        .filter(|path| path.components().count() > 1)
}

/// The literal text at the beginning of a pattern with its escapes undone, and the rest.
fn literal_text(pattern: &str) -> (String, &str) {
    let mut text = String::new();
    let mut rest = pattern;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next().filter(char::is_ascii_punctuation) {
                Some(escaped) => text.push(escaped),
                None => return (text, rest),
            },
            '.' | '+' | '*' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                return (text, rest);
            }
            plain => text.push(plain),
        }
        rest = chars.as_str();
    }
    (text, rest)
}

/// Compiles one pattern from the configuration, within the size limit.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, RuleFault> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_SIZE)
        .build()
        .map_err(|fault| RuleFault { pattern: pattern.to_owned(), why: last_line(&fault.to_string()) })
}

/// The regex compiler draws the pattern over several lines; the last line is the message.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or(text).trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_counts_only_where_a_pattern_names_it_literally() {
        let directory = |path: &str| Some(LiteralPath::Directory(path.into()));
        for (why, pattern, want) in [
            ("a tree", "^/srv/out(?:/|$)", directory("/srv/out")),
            ("everything below", "^/srv/out/.*", directory("/srv/out")),
            ("escapes are undone", r"^/srv/my\.out/.*$", directory("/srv/my.out")),
            ("files, not a directory", r"^/tmp/picoclaw-.*\.txt$", None),
            ("one file", "^/etc/hosts$", Some(LiteralPath::Exact("/etc/hosts".into()))),
            ("a beginning of names", "^/etc/hosts", None),
            ("a class of directories", "^/srv/[a-z]+/.*", None),
            ("not held at the beginning", "/srv/out/.*", None),
            ("letters behind a backslash mean something else", r"^/srv/\w/.*", None),
        ] {
            assert_eq!(literal_path(pattern), want, "{why}: `{pattern}`");
        }
    }

    #[test]
    fn a_prefix_holds_everything_that_a_pattern_matches() {
        for (why, pattern, want) in [
            ("up to the last whole name", r"^/srv/data/run-[0-9]+\.log$", Some("/srv/data")),
            ("a name that may be missing its last letter", "^/srv/data/logs?/x$", Some("/srv/data")),
            ("nothing but the root", "^/[a-z]+/x$", None),
            ("another beginning", "^/srv/data/x|/etc/.*", None),
            ("not anchored", "/srv/data/.*", None),
        ] {
            assert_eq!(literal_prefix(pattern), want.map(PathBuf::from), "{why}: `{pattern}`");
        }
    }
}
