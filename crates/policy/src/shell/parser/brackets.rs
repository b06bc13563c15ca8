//! Brackets inside expansions that are in brackets themselves.
//!
//! Bash looks for the end of `((…))`, `$[…]`, subscripts, extended patterns and regular expressions
//! more than once, and less carefully each time: a `)` of a `case` inside `$((…))` makes it run the
//! output of the substitution as a command. Only brackets that are balanced by every method are
//! accepted.

use super::cursor::{ParseResult, Parser};

/// What the surrounding construct is closed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// `(` and `)`
    Parens,
    /// `[` and `]`
    Brackets,
}

impl Parser<'_> {
    /// Refuses what was read since `from` unless its brackets balance, inside of quotes and with
    /// them.
    pub(super) fn balanced(&self, pair: Pair, from: usize) -> ParseResult<()> {
        let text = self.source.text().get(from..self.at).unwrap_or_default();
        self.count(text.len());
        if is_balanced(text, pair) {
            return Ok(());
        }
        let what = match pair {
            Pair::Parens => "parentheses that do not balance inside of parentheses",
            Pair::Brackets => "brackets that do not balance inside of brackets",
        };
        self.refuse(what, from)
    }
}

fn is_balanced(text: &str, pair: Pair) -> bool {
    let (open, close) = match pair {
        Pair::Parens => (b'(', b')'),
        Pair::Brackets => (b'[', b']'),
    };
    // One count for everything, one for each quoted part.
    let (mut depth, mut quoted_depth) = (0_usize, 0_usize);
    let mut quote = None;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            // An escaped bracket counts for some looks and not for others.
            (b'\\', _) if bytes.next().is_none_or(|escaped| escaped == open || escaped == close) => {
                return false;
            }
            (b'\\', _) => {}
            (b'\'' | b'"', None) => (quote, quoted_depth) = (Some(byte), 0),
            (_, Some(mark)) if mark == byte => {
                if quoted_depth != 0 {
                    return false;
                }
                quote = None;
            }
            _ if byte == open => (depth, quoted_depth) = (depth + 1, quoted_depth + 1),
            _ if byte == close => {
                if depth == 0 || (quote.is_some() && quoted_depth == 0) {
                    return false;
                }
                (depth, quoted_depth) = (depth - 1, quoted_depth.saturating_sub(1));
            }
            _ => {}
        }
    }
    depth == 0 && quote.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_balance_with_and_without_quotes() {
        for (why, text, want) in [
            ("nothing", "", true),
            ("a pair", "$(a (b) c)", true),
            ("closed before opened", ")(", false),
            ("left open", "$(a", false),
            ("balanced in quotes", "$(awk '{print int($1)}')", true),
            ("not balanced in quotes", "$(a ')') (", false),
            ("closed in quotes", "( ')'", false),
            ("a quote that never ends", "$(a # it's\n)", false),
            ("an escaped parenthesis", "$(a \\) )", false),
            ("a pattern of `case`", "$(case x in a) b;; esac)", false),
        ] {
            assert_eq!(is_balanced(text, Pair::Parens), want, "{why}: `{text}`");
        }
    }
}
