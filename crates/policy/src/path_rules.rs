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

/// The directory that a pattern names literally, as in `^/srv/out(?:/|$)`, `^/srv/out/.*` or
/// `^/srv/out/`.
pub fn literal_directory(pattern: &str) -> Option<PathBuf> {
    const ENDS: &[&str] = &["(?:/|$)", "(/|$)", "/.*$", "/.*", "/"];
    let rest = pattern.strip_prefix('^')?;
    let rest = ENDS.iter().find_map(|end| rest.strip_suffix(end))?;
    let mut text = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| c.is_ascii_punctuation())?),
            '.' | '+' | '*' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => return None,
            plain => text.push(plain),
        }
    }
    CleanPath::absolute(Path::new(&text)).map(|path| path.as_path().to_owned())
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
    fn a_directory_counts_only_where_a_pattern_names_it_literally() {
        for (why, pattern, want) in [
            ("a tree", "^/srv/out(?:/|$)", Some("/srv/out")),
            ("everything below", "^/srv/out/.*", Some("/srv/out")),
            ("escapes are undone", r"^/srv/my\.out/.*$", Some("/srv/my.out")),
            ("files, not a directory", r"^/tmp/picoclaw-.*\.txt$", None),
            ("one file", "^/etc/hosts$", None),
            ("a class of directories", "^/srv/[a-z]+/.*", None),
            ("not held at the beginning", "/srv/out/.*", None),
            ("letters behind a backslash mean something else", r"^/srv/\w/.*", None),
        ] {
            assert_eq!(literal_directory(pattern), want.map(PathBuf::from), "{why}: `{pattern}`");
        }
    }
}
