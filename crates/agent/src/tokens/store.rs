//! `<home>/state/tokens.json`: names, scopes and hashes. The text of a token is shown once, when it
//! is made, and is not stored.

use super::scope::Scopes;
use data_encoding::HEXLOWER;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::presence::random_token;
use picoclaw_sandbox::state_dir::{LineFile, StateDir, StateError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "tokens.json";

const LOCK: &str = "tokens.lock";

/// The largest file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most tokens.
const MAX_TOKENS: usize = 256;

/// How long an edit waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Names that the audit log uses for something else.
const RESERVED: [&str; 2] = ["terminal", "pid-file"];

/// Why the tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// The file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// No random bytes.
    #[error("the kernel returned no random bytes: {0}")]
    Random(io::Error),
    /// The file is not a list of tokens.
    #[error("`state/tokens.json` is damaged: {0}")]
    Damaged(String),
    /// Not a name.
    #[error("`{0}` is not a valid token name")]
    BadName(String),
    /// The name is taken.
    #[error("the token `{0}` already exists")]
    Exists(String),
    /// There is no such token.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// Too many tokens.
    #[error("there are already {MAX_TOKENS} tokens")]
    Full,
}

impl TokenStoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::State(why) => why.hint(),
            Self::BadName(_) => Some("1 to 64 letters, digits, `-` and `_`, not `terminal` or `pid-file`"),
            Self::Exists(_) => Some("`picoclaw token revoke` removes it"),
            Self::Unknown(_) | Self::Full => Some("`picoclaw token list` shows them"),
            Self::Damaged(_) => Some("until it is removed, no named token is accepted"),
            Self::Random(_) => None,
        }
    }
}

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedToken {
    /// Its name, which the audit log shows as the principal.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: String,
    /// The SHA-256 of its text, in hexadecimal digits.
    sha256: String,
}

impl NamedToken {
    /// The SHA-256 of its text.
    pub(crate) fn digest(&self) -> Option<[u8; 32]> {
        HEXLOWER.decode(self.sha256.as_bytes()).ok()?.try_into().ok()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    tokens: Vec<NamedToken>,
}

/// The named tokens of an instance.
#[derive(Debug, Clone)]
pub struct TokenStore(StateDir);

impl TokenStore {
    /// The tokens of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, TokenStoreError> {
        Ok(Self(StateDir::of_instance(home)?))
    }

    /// The tokens, oldest first.
    pub fn list(&self) -> Result<Vec<NamedToken>, TokenStoreError> {
        let Some(bytes) = self.0.read(FILE, MAX_FILE_BYTES)? else { return Ok(Vec::new()) };
        let damaged = |why: String| TokenStoreError::Damaged(why);
        let document: Document = serde_json::from_slice(&bytes).map_err(|why| damaged(why.to_string()))?;
        match document.version {
            1 if document.tokens.iter().all(|token| token.digest().is_some()) => Ok(document.tokens),
            1 => Err(damaged("a hash is not one".to_owned())),
            other => Err(damaged(format!("version {other} is not known"))),
        }
    }

    /// Makes a token and returns its text, which is not kept.
    pub fn add(&self, name: &str, scopes: Scopes) -> Result<String, TokenStoreError> {
        if !is_name(name) {
            return Err(TokenStoreError::BadName(name.to_owned()));
        }
        let _lock = self.lock()?;
        let mut tokens = self.list()?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenStoreError::Exists(name.to_owned()));
        }
        if tokens.len() >= MAX_TOKENS {
            return Err(TokenStoreError::Full);
        }
        let text = random_token().map_err(TokenStoreError::Random)?;
        tokens.push(NamedToken {
            name: name.to_owned(),
            scopes,
            created_at: Timestamp::now().to_string(),
            sha256: HEXLOWER.encode(&Sha256::digest(&text)),
        });
        self.store(tokens)?;
        Ok(text)
    }

    /// Removes a token; a running gateway refuses it from the next request on.
    pub fn revoke(&self, name: &str) -> Result<(), TokenStoreError> {
        let _lock = self.lock()?;
        let mut tokens = self.list()?;
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before {
            return Err(TokenStoreError::Unknown(name.to_owned()));
        }
        self.store(tokens)
    }

    fn lock(&self) -> Result<LineFile, TokenStoreError> {
        Ok(self.0.lock(LOCK, LOCK_TIMEOUT)?)
    }

    fn store(&self, tokens: Vec<NamedToken>) -> Result<(), TokenStoreError> {
        let text = serde_json::to_vec_pretty(&Document { version: 1, tokens });
        let text = text.map_err(|why| TokenStoreError::Damaged(why.to_string()))?;
        Ok(self.0.replace(FILE, &text)?)
    }
}

fn is_name(name: &str) -> bool {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    fits && !RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Scope;

    #[test]
    fn the_text_is_shown_once_and_only_its_hash_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let store = TokenStore::open(home.path()).unwrap();
        assert!(store.list().unwrap().is_empty());
        let text = store.add("alice", Scopes::from([Scope::Chat])).unwrap();
        let digest: [u8; 32] = Sha256::digest(&text).into();
        let [token] = &store.list().unwrap()[..] else { panic!("one token") };
        assert_eq!((token.name.as_str(), token.digest()), ("alice", Some(digest)));
        let stored = store.0.read(FILE, MAX_FILE_BYTES).unwrap().unwrap();
        assert!(!String::from_utf8(stored).unwrap().contains(&text));
        assert!(matches!(store.add("alice", Scopes::new()), Err(TokenStoreError::Exists(_))));
        for name in ["", "a b", "mcp:x", "terminal", "gateway.token", "../x", "pid-file"] {
            assert!(matches!(store.add(name, Scopes::new()), Err(TokenStoreError::BadName(_))), "`{name}`");
        }
        store.revoke("alice").unwrap();
        assert!(matches!(store.revoke("alice"), Err(TokenStoreError::Unknown(_))));
        assert!(store.list().unwrap().is_empty());
        for text in [
            "{",
            r#"{"version":2,"tokens":[]}"#,
            r#"{"version":1,"tokens":[{"name":"x","scopes":["chat"],"created_at":"","sha256":"zz"}]}"#,
        ] {
            store.0.replace(FILE, text.as_bytes()).unwrap();
            assert!(matches!(store.list(), Err(TokenStoreError::Damaged(_))), "`{text}`");
        }
    }
}
