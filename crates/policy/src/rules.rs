//! Allow-path rules: regular expressions over absolute paths.
//!
//! Invariant: a rule that does not compile stops the start; none is skipped.

use regex::{Regex, RegexBuilder};
use std::path::Path;

/// Bytes that one compiled pattern may take: a rule is a line of text, not a program.
const PATTERN_BUDGET: usize = 1 << 20;

/// A pattern that is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a regular expression: {why}")]
pub struct RuleFault {
    /// The pattern as written.
    pub pattern: String,
    /// What the compiler said.
    pub why: String,
}

/// Patterns that open paths outside the workspace.
#[derive(Debug, Clone, Default)]
pub struct PathRules(Vec<Regex>);

impl PathRules {
    /// Compiles every pattern, or names the first that is none.
    pub fn compile<S: AsRef<str>>(patterns: &[S]) -> Result<Self, RuleFault> {
        patterns.iter().map(|pattern| compile(pattern.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// The first pattern that matches `path`. A path that is not UTF-8 matches none.
    pub fn matching(&self, path: &Path) -> Option<&str> {
        let text = path.to_str()?;
        self.0.iter().find(|rule| rule.is_match(text)).map(Regex::as_str)
    }
}

/// Compiles one pattern of the operator's, within bounds.
pub(crate) fn compile(pattern: &str) -> Result<Regex, RuleFault> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_BUDGET)
        .build()
        .map_err(|fault| RuleFault { pattern: pattern.to_owned(), why: last_line(&fault.to_string()) })
}

/// The compiler draws the pattern over several lines; its last one says what is wrong.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or(text).trim().trim_start_matches("error: ").to_owned()
}
