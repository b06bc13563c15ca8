//! The documented deny patterns, matched against the lower-cased text of the whole command.
//!
//! They ignore quoting, so they also block text that is only printed. `smart` omits them.

use regex::bytes::{RegexSet, RegexSetBuilder};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Every pattern, in the order of the documentation.
pub(super) const PATTERNS: &[&str] = &[
    r"\brm\s+-[rf]{1,2}\b",
    r"\bdel\s+/[fq]\b",
    r"\brmdir\s+/s\b",
    r"\b(format|mkfs|diskpart)\b\s",
    r"\bdd\s+if=",
    r">\s*/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|nbd\d)",
    r"\b(shutdown|reboot|poweroff)\b",
    r":\(\)\s*\{.*\};\s*:",
    r"\$\([^)]+\)",
    r"\$\{[^}]+\}",
    r"`[^`]+`",
    r"\|\s*sh\b",
    r"\|\s*bash\b",
    r"\bsudo\b",
    r"\bchmod\s+[0-7]{3,4}\b",
    r"\bchown\b",
    r"\bpkill\b",
    r"\bkillall\b",
    r"\bkill\s+-[9]\b",
    r"\bcurl\b.*\|\s*(sh|bash)",
    r"\bwget\b.*\|\s*(sh|bash)",
    r"\bssh\b.*@",
    r"\bapt\s+(install|remove|purge)\b",
    r"\byum\s+(install|remove)\b",
    r"\bdnf\s+(install|remove)\b",
    r"\bnpm\s+install\s+-g\b",
    r"\bpip\s+install\s+--user\b",
    r"\bdocker\s+run\b",
    r"\bdocker\s+exec\b",
    r"\bgit\s+push\b",
    r"\bgit\s+force\b",
];

/// The first documented pattern that matches a text.
pub(super) fn matching(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let small = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let lower = if small { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
    match set() {
        // A match of the whole set is much cheaper than finding which pattern, and nearly always
        // fails.
        Some(set) if !set.is_match(lower.as_bytes()) => None,
        Some(set) => {
            set.matches(lower.as_bytes()).iter().next().and_then(|first| PATTERNS.get(first).copied())
        }
        None => PATTERNS.first().copied(),
    }
}

/// The compiled set.
pub(super) fn set() -> Option<&'static RegexSet> {
    static SET: OnceLock<Option<RegexSet>> = OnceLock::new();
    // The patterns are constants: a test shows that they compile, and without them everything
    // matches. Classes are ASCII, as in the documentation; that also compiles ten times faster.
    SET.get_or_init(|| RegexSetBuilder::new(PATTERNS).unicode(false).build().ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_pattern_compiles() {
        assert_eq!(set().unwrap().len(), PATTERNS.len());
    }

    #[test]
    fn the_patterns_look_at_the_text_alone() {
        for (text, want) in [
            ("rm -rf x", true),
            ("RM -RF X", true),
            ("echo \"rm -rf x\"", true),
            ("rm -rfv x", false),
            ("git log --format=%h", false),
            ("prettier format x", true),
            ("echo $((1+1))", true),
            ("git stash push", false),
            ("ls", false),
        ] {
            assert_eq!(matching(text).is_some(), want, "`{text}`");
        }
    }
}
