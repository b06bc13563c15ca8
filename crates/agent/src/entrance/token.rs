//! The bearer token.
//!
//! Invariant: how long a comparison takes tells nothing about the token.

use http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest, Sha256};

/// Shorter tokens could be tried out.
const SHORTEST: usize = 16;

/// A token that a client must show; only its hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It could be guessed.
    #[error("the token is shorter than {SHORTEST} characters")]
    Short,
    /// It could not be sent.
    #[error("the token has characters that a header cannot carry")]
    Unsendable,
}

impl Token {
    /// Takes a token as it is written, without the white space around it.
    pub fn new(text: &str) -> Result<Self, TokenFault> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(TokenFault::Short);
        }
        if !is_sendable(text) {
            return Err(TokenFault::Unsendable);
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// Takes a token that its operator chose, however short; an empty one is none.
    pub fn chosen(text: &str) -> Result<Self, TokenFault> {
        match Self::new(text) {
            Err(TokenFault::Short) if !text.trim().is_empty() && is_sendable(text.trim()) => {
                Ok(Self(Sha256::digest(text.trim()).into()))
            }
            taken => taken,
        }
    }

    /// Whether a request shows it, and shows no other.
    pub(crate) fn is_shown_in(&self, headers: &HeaderMap) -> bool {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let is_shown = shown.next().is_some_and(|header| self.is_shown_by(header.as_bytes()));
        is_shown && shown.next().is_none()
    }

    /// Whether an `Authorization` header shows it.
    fn is_shown_by(&self, header: &[u8]) -> bool {
        let Some((scheme, shown)) = header.split_at_checked(b"Bearer ".len()) else { return false };
        let shown: [u8; 32] = Sha256::digest(shown.trim_ascii()).into();
        let difference = self.0.iter().zip(shown).fold(0, |found, (ours, theirs)| found | (ours ^ theirs));
        scheme.eq_ignore_ascii_case(b"Bearer ") && difference == 0
    }
}

fn is_sendable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        for (why, header, want) in [
            ("as it is", "Bearer 0123456789abcdef", true),
            ("the scheme in another case", "bearer 0123456789abcdef", true),
            ("another", "Bearer 0123456789abcdeF", false),
            ("a beginning", "Bearer 0123456789abcde", false),
            ("more", "Bearer 0123456789abcdef0", false),
            ("another scheme", "Basic_ 0123456789abcdef", false),
            ("no scheme", "0123456789abcdef", false),
            ("nothing", "", false),
        ] {
            assert_eq!(token.is_shown_by(header.as_bytes()), want, "{why}: `{header}`");
        }
        assert_eq!(Token::new("short").err(), Some(TokenFault::Short));
        assert!(Token::chosen("short").unwrap().is_shown_by(b"Bearer short"), "an operator may choose it");
        assert_eq!(Token::chosen(" ").err(), Some(TokenFault::Short));
        assert_eq!(Token::chosen("a b").err(), Some(TokenFault::Short));
        assert_eq!(Token::new("0123456789 abcdef").err(), Some(TokenFault::Unsendable));
    }
}
