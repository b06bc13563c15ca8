//! The bearer token, compared in constant time.

use http::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Shorter tokens could be guessed.
const MIN_LENGTH: usize = 16;

/// Tokens of fewer different characters could be guessed.
const MIN_DIFFERENT: usize = 6;

/// The SHA-256 of a token.
pub(crate) type TokenDigest = [u8; 32];

/// The token that a client must send; only its hash is kept.
#[derive(Clone)]
pub struct Token {
    digest: TokenDigest,
    strength: Strength,
}

/// Whether a token could be found by trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// Long, and of several characters.
    Strong,
    /// Short or monotonous.
    Guessable,
}

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Short enough to be guessed.
    #[error("the token is shorter than {MIN_LENGTH} characters")]
    Short,
    /// Not fit for a header.
    #[error("the token contains characters that a header cannot carry")]
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
        Ok(Self::of_text(text))
    }

    /// A token that the operator configured, of any length but zero.
    pub fn chosen(text: &str) -> Result<Self, TokenError> {
        match Self::new(text) {
            Err(TokenError::Short) if !text.trim().is_empty() && is_sendable(text.trim()) => {
                Ok(Self::of_text(text.trim()))
            }
            result => result,
        }
    }

    /// A random token of which the hash is known.
    pub(crate) fn of_digest(digest: TokenDigest) -> Self {
        Self { digest, strength: Strength::Strong }
    }

    fn of_text(text: &str) -> Self {
        let different: BTreeSet<u8> = text.bytes().collect();
        let is_strong = text.len() >= MIN_LENGTH && different.len() >= MIN_DIFFERENT;
        let strength = if is_strong { Strength::Strong } else { Strength::Guessable };
        Self { digest: Sha256::digest(text).into(), strength }
    }

    /// Whether it could be found by trying.
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// Its hash.
    pub(crate) fn digest(&self) -> &TokenDigest {
        &self.digest
    }

    /// Whether this is the token that was sent, in constant time.
    pub(crate) fn is(&self, sent: &TokenDigest) -> bool {
        self.digest.iter().zip(sent).fold(0, |found, (ours, theirs)| found | (ours ^ theirs)) == 0
    }
}

/// What a request shows of a token.
pub(crate) enum Sent {
    /// There is no `Authorization` header.
    Nothing,
    /// There are several, or it is no bearer token.
    Unreadable,
    /// The hash of the one token.
    Token(TokenDigest),
}

impl Sent {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Nothing,
            (Some(value), None) => bearer(value.as_bytes()).map_or(Self::Unreadable, Self::Token),
            (Some(_), Some(_)) => Self::Unreadable,
        }
    }
}

/// The hash of the token in the value of an `Authorization` header.
fn bearer(header: &[u8]) -> Option<TokenDigest> {
    let (scheme, sent) = header.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| Sha256::digest(sent.trim_ascii()).into())
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
            assert_eq!(
                bearer(header.as_bytes()).is_some_and(|sent| token.is(&sent)),
                want,
                "{why}: `{header}`"
            );
        }
        assert_eq!(Token::new("short").err(), Some(TokenError::Short));
        let chosen = Token::chosen("short").unwrap();
        assert!(chosen.is(&bearer(b"Bearer short").unwrap()), "an operator may choose it");
        for (text, want) in [
            ("short", Strength::Guessable),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", Strength::Guessable),
            ("0123456789abcdef", Strength::Strong),
        ] {
            assert_eq!(Token::chosen(text).unwrap().strength(), want, "{text}");
        }
        assert_eq!(Token::chosen(" ").err(), Some(TokenError::Short));
        assert_eq!(Token::chosen("a b").err(), Some(TokenError::Short));
        assert_eq!(Token::new("0123456789 abcdef").err(), Some(TokenError::Unsendable));
    }
}
