//! Pattern matching on names and values, as the shell does it. A pattern that cannot be parsed
//! matches more, never less.

use super::partial_word::{ANYTHING, CLASS, DOWNLOADED, INSIDE, NAME, ONE, STAR};

enum Token {
    Literal(char),
    One,
    Star,
    Class { negated: bool, members: Vec<(char, char)> },
}

/// A pattern with marks; a gap matches anything.
pub(super) struct Pattern(Vec<Token>);

impl Pattern {
    pub(super) fn new(pattern: &str) -> Self {
        Self(tokens(pattern))
    }

    /// Whether `text` matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let tokens = &self.0;
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut from) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while from < text.len() {
            match tokens.get(at) {
                Some(Token::Star) => {
                    retry = Some((at, from));
                    at += 1;
                }
                Some(token) if matches_token(token, text[from]) => {
                    at += 1;
                    from += 1;
                }
                _ => match retry {
                    Some((star, seen)) => {
                        retry = Some((star, seen + 1));
                        at = star + 1;
                        from = seen + 1;
                    }
                    None => return false,
                },
            }
        }
        tokens[at.min(tokens.len())..].iter().all(|token| matches!(token, Token::Star))
    }
}

/// Whether a pattern for one path component can match `..`: only one that begins with a literal dot
/// can.
pub(super) fn can_match_parent(component: &str) -> bool {
    match component.chars().next() {
        Some('.') => Pattern::new(component).matches(".."),
        Some(ANYTHING | DOWNLOADED) => true,
        _ => false,
    }
}

fn matches_token(token: &Token, c: char) -> bool {
    match token {
        Token::Literal(l) => *l == c,
        Token::One => true,
        Token::Star => false,
        Token::Class { negated, members } => {
            members.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
        }
    }
}

fn tokens(pattern: &str) -> Vec<Token> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut tokens = Vec::with_capacity(chars.len());
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        at += 1;
        tokens.push(match *c {
            STAR | ANYTHING | NAME | INSIDE | DOWNLOADED => Token::Star,
            ONE => Token::One,
            CLASS => match class(&chars, at) {
                Some((token, after)) => {
                    at = after;
                    token
                }
                None => Token::Literal('['),
            },
            literal => Token::Literal(literal),
        });
    }
    tokens
}

/// The class after its bracket, and its end; `None` if it does not end.
fn class(chars: &[char], start: usize) -> Option<(Token, usize)> {
    let negated = matches!(chars.get(start), Some('!' | '^'));
    let first = start + usize::from(negated);
    let end = (first + 1..chars.len()).find(|at| chars[*at] == ']')?;
    let inside = &chars[first..end];
    if inside.contains(&CLASS) || inside.starts_with(&['[', ':']) {
        // A named class matches any character.
        let close = (end..chars.len()).rev().find(|at| chars[*at] == ']').unwrap_or(end);
        return Some((Token::One, close + 1));
    }
    let mut members = Vec::new();
    let mut at = 0;
    while at < inside.len() {
        if inside.get(at + 1) == Some(&'-') && at + 2 < inside.len() {
            members.push((inside[at], inside[at + 2]));
            at += 3;
        } else {
            members.push((inside[at], inside[at]));
            at += 1;
        }
    }
    Some((Token::Class { negated, members }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::guard::partial_word::activate_globs;

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, text, want) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.md", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("[", "[", true),
            ("", "", true),
        ] {
            assert_eq!(Pattern::new(&activate_globs(pattern)).matches(text), want, "`{pattern}` on `{text}`");
        }
    }

    #[test]
    fn only_a_dot_of_its_own_climbs() {
        for (pattern, want) in [
            (".?", true),
            (".*", true),
            (".[.]", true),
            ("..", true),
            ("*", false),
            ("??", false),
            (".a*", false),
        ] {
            assert_eq!(can_match_parent(&activate_globs(pattern)), want, "`{pattern}`");
        }
    }
}
