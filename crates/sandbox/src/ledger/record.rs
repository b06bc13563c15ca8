//! One record: the fields of a line, in their order.

use super::chain::Hash;
use super::encode::HASH_KEY;
use serde::{Deserialize, Serialize};

/// One record. Texts are what was written: pass them through [`printable`](crate::printable) before
/// they reach a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the documentation of the module lists and explains the fields")]
pub struct Record {
    pub seq: u64,
    pub time: String,
    pub phase: String,
    pub origin: String,
    pub agent: String,
    pub session: String,
    pub depth: u32,
    /// Missing in records of the first version.
    #[serde(default)]
    pub lineage: Option<Vec<String>>,
    pub principal: Option<String>,
    pub tool: String,
    pub intent: Option<String>,
    pub verdict: String,
    pub code: Option<String>,
    pub rule: Option<String>,
    pub layer: Option<String>,
    pub enforced: Option<Vec<String>>,
    pub outcome: Option<String>,
    pub duration_us: Option<u64>,
    pub prev: String,
    /// Added to the line after the other fields are hashed.
    #[serde(skip_serializing)]
    pub hash: String,
}

impl Record {
    /// Parses a line without its line feed and checks its hash; the error says what is wrong with
    /// it.
    pub fn parse(line: &[u8]) -> Result<Self, &'static str> {
        let hash = check_hash(line)?;
        let record: Self = serde_json::from_slice(line).map_err(|_| "it is not a record")?;
        if Hash::parse(&record.hash) != Some(hash) {
            return Err("it has more than one hash");
        }
        Ok(record)
    }
}

/// The hash at the end of a line, if it is the hash of what comes before.
fn check_hash(line: &[u8]) -> Result<Hash, &'static str> {
    const SHAPE: &str = "it is not a record";
    let body_end = line.len().checked_sub(HASH_KEY.len() + 64 + 2).ok_or(SHAPE)?;
    let (body, end) = line.split_at(body_end);
    let digits = end.strip_prefix(HASH_KEY).and_then(|end| end.strip_suffix(b"\"}")).ok_or(SHAPE)?;
    let written = std::str::from_utf8(digits).ok().and_then(Hash::parse).ok_or(SHAPE)?;
    if Hash::of_parts(&[body, b"}"]) != written {
        return Err("its hash is not the hash of its contents");
    }
    Ok(written)
}
