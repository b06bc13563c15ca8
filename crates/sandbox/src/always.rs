//! Rules of the person: acts that were answered with *always*, in `<home>/state/always.jsonl`.
//!
//! The file is read for each question, so that a rule that was revoked is gone at once. Only whole,
//! readable lines count; no agent can write there.

use crate::act::Act;
use crate::ledger::Timestamp;
use crate::state_dir::{StateDir, StateError};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

const FILE: &str = "always.jsonl";

/// The file as a whole is replaced under this lock.
const LOCK: &str = "always.lock";

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest file; a rule that does not fit is not added.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlwaysRule {
    /// Its name for `picoclaw approvals revoke`.
    pub id: String,
    /// The digest of the act.
    pub digest: String,
    /// The tool.
    pub tool: String,
    /// The agent.
    pub agent: String,
    /// What was shown, secrets filtered.
    pub text: String,
    /// The directory or file.
    #[serde(default)]
    pub path: Option<String>,
    /// Who gave the answer.
    pub by: String,
    /// When.
    pub at: String,
}

/// The rules of an instance.
#[derive(Debug, Default)]
pub struct AlwaysRules(Option<StateDir>);

impl AlwaysRules {
    /// The rules of the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, StateError> {
        Ok(Self(Some(StateDir::of_instance(home)?)))
    }

    /// Every rule, the oldest first.
    pub fn list(&self) -> Result<Vec<AlwaysRule>, StateError> {
        let Some(dir) = &self.0 else { return Ok(Vec::new()) };
        let bytes = dir.read(FILE, MAX_FILE_BYTES)?.unwrap_or_default();
        Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The rule for exactly this act. A file that cannot be read holds none.
    pub fn find(&self, act: &Act) -> Option<AlwaysRule> {
        let rules = self.list().unwrap_or_else(|why| {
            tracing::warn!(target: "approvals", error = %why, "The rules of `always` cannot be read");
            Vec::new()
        });
        if rules.is_empty() {
            return None;
        }
        let digest = act.standing_digest();
        rules.into_iter().find(|rule| rule.digest == digest)
    }

    /// Adds a rule for this act; `text` is what was shown.
    pub fn add(&self, act: &Act, text: &str, by: &str) -> Result<(), StateError> {
        let Some(dir) = &self.0 else { return Ok(()) };
        let digest = act.standing_digest();
        let at = Timestamp::now().to_string();
        let id = HEXLOWER.encode(&Sha256::digest(format!("{digest} {at}")))[..8].to_owned();
        let rule = AlwaysRule {
            id,
            digest,
            tool: act.tool.clone(),
            agent: act.agent.clone(),
            text: text.to_owned(),
            path: act.path.clone(),
            by: by.to_owned(),
            at,
        };
        self.edit(dir, |rules| {
            rules.retain(|known| known.digest != rule.digest);
            rules.push(rule);
        })
    }

    /// Removes a rule; whether there was one.
    pub fn revoke(&self, id: &str) -> Result<bool, StateError> {
        let Some(dir) = &self.0 else { return Ok(false) };
        let mut is_found = false;
        self.edit(dir, |rules| {
            rules.retain(|rule| {
                is_found |= rule.id == id;
                rule.id != id
            });
        })?;
        Ok(is_found)
    }

    fn edit(&self, dir: &StateDir, edit: impl FnOnce(&mut Vec<AlwaysRule>)) -> Result<(), StateError> {
        let _held = dir.lock(LOCK, LOCK_TIMEOUT)?;
        let mut rules = self.list()?;
        edit(&mut rules);
        let lines = rules.iter().filter_map(|rule| crate::printable_json(rule).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(StateError::TooLarge { path: dir.path().join(FILE), limit: MAX_FILE_BYTES });
        }
        dir.replace(FILE, text.as_bytes())
    }
}
