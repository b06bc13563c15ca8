//! The bearer token, compared in constant time.

use http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest, Sha256};

/// Shorter tokens could be guessed.
const MIN_LENGTH: usize = 16;

/// The token that a client must send; only its hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Short enough to be guessed.
    #[error("the token is shorter than {MIN_LENGTH} characters")]
    Short,
    /// Not fit for a header.
    #[error("the token has characters that a header cannot carry")]
    Unsendable,
}

impl Token {
    /// A token of at least 16 characters; white space around it is ignored.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.len() < MIN_LENGTH {
            return Err(TokenError::Short);
        }
        if !is_sendable(text) {
            return Err(TokenError::Unsendable);
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// A token that the operator configured, of any length but zero.
    pub fn chosen(text: &str) -> Result<Self, TokenError> {
        match Self::new(text) {
            Err(TokenError::Short) if !text.trim().is_empty() && is_sendable(text.trim()) => {
                Ok(Self(Sha256::digest(text.trim()).into()))
            }
            result => result,
        }
    }

    /// Whether a request carries this token and no other.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let matches = values.next().is_some_and(|value| self.matches(value.as_bytes()));
        matches && values.next().is_none()
    }

    /// Whether the value of an `Authorization` header carries this token.
    fn matches(&self, header: &[u8]) -> bool {
        let Some((scheme, sent)) = header.split_at_checked(b"Bearer ".len()) else { return false };
        let sent: [u8; 32] = Sha256::digest(sent.trim_ascii()).into();
        let difference = self.0.iter().zip(sent).fold(0, |found, (ours, theirs)| found | (ours ^ theirs));
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
            assert_eq!(token.matches(header.as_bytes()), want, "{why}: `{header}`");
        }
        assert_eq!(Token::new("short").err(), Some(TokenError::Short));
        assert!(Token::chosen("short").unwrap().matches(b"Bearer short"), "an operator may choose it");
        assert_eq!(Token::chosen(" ").err(), Some(TokenError::Short));
        assert_eq!(Token::chosen("a b").err(), Some(TokenError::Short));
        assert_eq!(Token::new("0123456789 abcdef").err(), Some(TokenError::Unsendable));
    }
}
