//! Whether a pattern compiles, without paying for it twice.
//!
//! Whoever uses a pattern compiles it; a start that only checks it should not. Parsing finds every slip of the pen,
//! and a pattern that is light by a cautious estimate cannot break the compiler's budget. The rest is compiled.
//!
//! Invariant: what passes here compiles.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The heaviest pattern that is believed without compiling it, far below what the budget holds.
const LIGHT: usize = 4_000;

/// Why `pattern` is not one.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if regex_syntax::parse(pattern).is_ok_and(|parsed| weight(&parsed) <= LIGHT) {
        return Ok(());
    }
    crate::path_rules::compile_pattern(pattern).map(|_| ()).map_err(|fault| fault.why)
}

/// About how many states a pattern compiles to, rather too many than too few.
fn weight(pattern: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().fold(1, |sum: usize, part| sum.saturating_add(weight(part)));
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        // A range of characters may need several ranges of bytes, each up to four long.
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().saturating_mul(8),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or_else(|| repeated.min.saturating_add(1)).max(1);
            weight(&repeated.sub)
                .saturating_add(1)
                .saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
        }
        HirKind::Capture(group) => weight(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_heavy_pattern_is_refused_and_a_light_one_is_not() {
        for (why, pattern, fits) in [
            ("a plain path", "^/etc/hosts$", true),
            ("a documented one", r"\bcurl\b.*--upload-file", true),
            ("a few hundred repetitions", "a{500}", true),
            ("repetitions of repetitions", "(a{1000}){1000}", false),
            ("many large classes", &r"\w".repeat(200), false),
            ("not a pattern", "(", false),
        ] {
            assert_eq!(check(pattern).is_ok(), fits, "{why}: `{pattern:.40}`");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_passes_compiles(parts in prop::collection::vec(prop::sample::select(vec![
            "a", "(", ")", "[^/]", "+", "*", "{3}", "{40}", "{900}", "|", r"\w", r"\s", r"\b", ".", "^", "$", "(?i)", r"\p{L}", "é", "(?s:.)",
        ]), 0..12)) {
            let pattern = parts.concat();
            prop_assert_eq!(check(&pattern).is_ok(), crate::path_rules::compile_pattern(&pattern).is_ok(), "{}", pattern);
        }
    }
}
