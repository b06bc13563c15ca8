//! Instruction files that the operator trusts, by the hash of their text:
//! `<home>/state/trusted.json`.

use crate::authors::Since;
use crate::ledger::Timestamp;
use crate::state_dir::{StateDir, StateError};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "trusted.json";

const LOCK: &str = "trusted.lock";

const MAX_FILE_BYTES: u64 = 4 << 20;

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// One trusted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The SHA-256 of its text.
    pub sha256: String,
    /// When, as the ledger counts.
    #[serde(flatten)]
    pub since: Since,
    /// When.
    pub at: String,
}

/// The trusted files of an instance, by path.
#[derive(Debug)]
pub struct TrustedFiles(StateDir);

impl TrustedFiles {
    /// The files of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, StateError> {
        Ok(Self(StateDir::of_instance(home)?))
    }

    /// The trusted files. A file that cannot be read makes none trusted.
    pub fn read(&self) -> BTreeMap<String, Trusted> {
        let bytes = self.0.read(FILE, MAX_FILE_BYTES).unwrap_or_else(|why| {
            tracing::warn!(target: "prompt", error = %why, "The trusted files cannot be read");
            None
        });
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Trusts a file with this hash, as it is since then.
    pub fn add(&self, path: &Path, sha256: &str, since: Since) -> Result<(), StateError> {
        let _held = self.0.lock(LOCK, LOCK_TIMEOUT)?;
        let mut files = self.read();
        let at = Timestamp::now().to_string();
        files.insert(path.display().to_string(), Trusted { sha256: sha256.to_owned(), since, at });
        let text = serde_json::to_vec_pretty(&files).unwrap_or_default();
        self.0.replace(FILE, &text)
    }
}

/// The hash of a text.
pub fn text_hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}
