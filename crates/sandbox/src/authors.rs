//! Who could have written to a workspace, as the ledger tells.
//!
//! An index in `<home>/state/authors.json` remembers how far the ledger was read, and who wrote
//! before a new ledger was begun. Where it does not fit the ledger, the ledger is read from its
//! beginning.

use crate::ledger::{LedgerError, Reader, Record, Records};
use crate::state_dir::{StateDir, StateError};
use picoclaw_policy::AgentId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const FILE: &str = "authors.json";

const MAX_FILE_BYTES: u64 = 1 << 20;

/// Records between two writes of the index.
const SAVE_EVERY: u64 = 200;

/// Tools that write to no workspace. Whatever a subagent or a job does has records of its own.
const HARMLESS: &[&str] = &[
    "read_file",
    "list_dir",
    "web_fetch",
    "spawn",
    "spawn_status",
    "subagent",
    "delegate",
    "cron",
    "helper",
    // The name of `helper` in records of 0.1.0.
    "guest",
    "run",
    "audit",
    "trust",
    "check",
    "policy",
];

/// The owner of what a command outside every cage and fence wrote: any workspace.
const ANY: &str = "*";

/// The name of authors that the first version did not record.
const UNKNOWN: &str = "?";

/// Why the authors are not known.
#[derive(Debug, thiserror::Error)]
pub enum AuthorsError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The index cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The authors of every workspace of an instance.
#[derive(Debug)]
pub struct Authors {
    ledger: PathBuf,
    state: StateDir,
}

/// What was read of the ledger so far.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    segment: u64,
    line: u64,
    seq: u64,
    hash: String,
    /// The hash of the first record, by which a ledger is known.
    #[serde(default)]
    ledger: String,
    /// For each agent, the agents above those that wrote in its workspace, with the last record of
    /// each.
    owners: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Authors {
    /// The authors in the instance at `home`.
    pub fn open(home: &Path) -> Result<Self, AuthorsError> {
        Ok(Self { ledger: home.join("ledger"), state: StateDir::of_instance(home)? })
    }

    /// The agents, other than `owner`, on whose behalf its workspace could have been written since
    /// then. Where the ledger does not say who it was, every one of `starters`, which may start it.
    pub fn of(
        &self,
        owner: &AgentId,
        since: &Since,
        starters: &[AgentId],
    ) -> Result<Vec<AgentId>, AuthorsError> {
        let index = self.read_on()?;
        let since = if since.ledger == index.ledger { since.seq } else { 0 };
        let of = |name: &str| index.owners.get(name).into_iter().flatten();
        let recent = of(owner.as_str()).chain(of(ANY)).filter(|(_, seq)| **seq > since);
        let names: BTreeSet<&str> = recent.map(|(name, _)| name.as_str()).collect();
        let mut authors: Vec<AgentId> = names.iter().filter_map(|name| AgentId::parse(name)).collect();
        if names.contains(UNKNOWN) {
            authors.extend(starters.iter().cloned());
        }
        authors.retain(|author| author != owner);
        authors.sort();
        authors.dedup();
        Ok(authors)
    }

    /// The present: what is written from now on comes after it.
    pub fn now(&self) -> Result<Since, AuthorsError> {
        let index = self.read_on()?;
        Ok(Since { ledger: index.ledger, seq: index.seq })
    }

    /// Reads the ledger on from where the index ends.
    fn read_on(&self) -> Result<Index, AuthorsError> {
        let saved = self.state.read(FILE, MAX_FILE_BYTES).ok().flatten();
        let saved = saved.and_then(|bytes| serde_json::from_slice::<Index>(&bytes).ok()).unwrap_or_default();
        let Some(reader) = Reader::open(&self.ledger)? else { return Ok(saved.before_a_new_ledger()) };
        let (before, known) = (saved.seq, saved.pairs());
        let earlier = saved.before_a_new_ledger();
        let mut index = match self.resume(reader, saved)? {
            Some(index) => index,
            None => earlier.read(Reader::open(&self.ledger)?.map(Reader::all).transpose()?)?,
        };
        // A new author is written down at once: the ledger may be archived before the next time.
        if index.seq >= before + SAVE_EVERY || index.seq < before || index.pairs() != known {
            let bytes = serde_json::to_vec(&index).unwrap_or_default();
            // Without it the ledger is read again.
            if let Err(why) = self.state.replace(FILE, &bytes) {
                tracing::debug!(target: "ledger", error = %why, "The index of authors was not written");
            }
        }
        index.owners.retain(|_, authors| !authors.is_empty());
        Ok(index)
    }

    /// Goes on behind the index, if its last record is where it was.
    fn resume(&self, reader: Reader, index: Index) -> Result<Option<Index>, AuthorsError> {
        if index.seq == 0 {
            return Ok(Some(index.read(Some(reader.all()?))?));
        }
        let mut records = reader.from_line(index.segment, index.line);
        let first = records.next()?;
        let fits =
            first.and_then(|stored| stored.record.ok()).is_some_and(|record| record.hash == index.hash);
        if fits { Ok(Some(index.read(Some(records))?)) } else { Ok(None) }
    }
}

/// A point in the life of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// The hash of the ledger's first record; another ledger was begun later.
    #[serde(default)]
    pub ledger: String,
    /// The last record.
    pub seq: u64,
}

impl Index {
    /// What is known when the ledger is another one: who wrote, before its first record.
    fn before_a_new_ledger(&self) -> Self {
        let mut owners = self.owners.clone();
        owners.values_mut().flat_map(BTreeMap::values_mut).for_each(|seq| *seq = 1);
        Self { owners, ..Self::default() }
    }

    /// Who wrote where.
    fn pairs(&self) -> BTreeSet<(String, String)> {
        let of = |(owner, authors): (&String, &BTreeMap<String, u64>)| {
            authors.keys().map(|author| (owner.clone(), author.clone())).collect::<Vec<_>>()
        };
        self.owners.iter().flat_map(of).collect()
    }

    fn read(mut self, records: Option<Records>) -> Result<Self, LedgerError> {
        let Some(mut records) = records else { return Ok(self) };
        while let Some(stored) = records.next()? {
            let Ok(record) = stored.record else { continue };
            if self.ledger.is_empty() {
                self.ledger.clone_from(&record.hash);
            }
            self.note(&record);
            (self.segment, self.line) = (stored.segment, stored.line);
            (self.seq, self.hash) = (record.seq, record.hash);
        }
        Ok(self)
    }

    fn note(&mut self, record: &Record) {
        if record.verdict != "allow" || HARMLESS.contains(&record.tool.as_str()) {
            return;
        }
        let above = record.lineage.clone().unwrap_or_default();
        let mut authors = |owner: &str, names: &[String]| {
            let authors = self.owners.entry(owner.to_owned()).or_default();
            authors.extend(names.iter().map(|name| (name.clone(), record.seq)));
        };
        if !above.is_empty() {
            authors(&record.agent, &above);
        } else if record.depth > 0 {
            authors(&record.agent, &[UNKNOWN.to_owned()]);
        }
        let held = |layer: &String| {
            layer.starts_with("filesystem")
                && !layer.contains("filesystem none")
                && !layer.contains("not held")
        };
        if record.tool == "exec" && !record.enforced.iter().flatten().any(held) {
            authors(ANY, &above);
            authors(ANY, std::slice::from_ref(&record.agent));
        }
    }
}
