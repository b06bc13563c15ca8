//! The sessions of every agent, each below its agent's directory.

use super::error::SessionError;
use super::file_name::{file_name, session_name};
use super::load::load;
use super::meta::Meta;
use super::session::{Session, SessionFile};
use crate::message::Message;
use picoclaw_policy::AgentId;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use std::path::Path;
use std::time::Duration;

/// How long a turn waits for another one in the same session.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// The largest metadata file that is read.
const MAX_META_BYTES: u64 = 4 << 20;

/// All sessions of an instance.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: StateDir,
    redactor: Redactor,
    lock_timeout: Duration,
}

/// One session of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its agent.
    pub agent: AgentId,
    /// How many messages it has.
    pub messages: u64,
    /// When it was written last, in RFC 3339.
    pub updated_at: String,
}

/// The messages of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The summary that is sent in place of older messages; empty when there is none.
    pub summary: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// How many older ones were left out because of their size.
    pub omitted: u64,
}

impl Sessions {
    /// The sessions of the instance at `home`; `redactor` filters what is stored.
    pub fn open(home: &Path, redactor: Redactor) -> Result<Self, SessionError> {
        Ok(Self { dir: StateDir::open(home, "sessions")?, redactor, lock_timeout: LOCK_TIMEOUT })
    }

    /// The same with another lock timeout than 3 seconds.
    #[must_use]
    pub fn waiting(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }

    /// Locks a session for one turn and loads its messages; creates it if need be.
    pub fn lock(&self, agent: &AgentId, name: &str) -> Result<Session, SessionError> {
        let (file, meta) = self.lock_file(agent, name)?;
        Session::load(file, meta, self.redactor.clone())
    }

    /// The same for a turn that only appends: earlier messages are not loaded.
    pub fn lock_for_append(&self, agent: &AgentId, name: &str) -> Result<Session, SessionError> {
        let (file, meta) = self.lock_file(agent, name)?;
        Ok(Session::append_only(file, meta, self.redactor.clone()))
    }

    fn lock_file(&self, agent: &AgentId, name: &str) -> Result<(SessionFile, Meta), SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let dir = self.dir.subdir(agent.as_str())?;
        let line_file = match dir.lock(&format!("{file}.jsonl"), self.lock_timeout) {
            Err(StateError::Busy { .. }) => return Err(SessionError::Busy { name: name.to_owned() }),
            held => held?,
        };
        let meta = match meta(&dir, &file, name)? {
            Some(meta) => meta,
            None => {
                let created_at = Timestamp::now().to_string();
                let meta = Meta { key: name.to_owned(), created_at, ..Meta::default() };
                dir.replace(&format!("{file}.meta.json"), &serde_json::to_vec(&meta).unwrap_or_default())?;
                meta
            }
        };
        Ok((SessionFile { dir, name: file, line_file }, meta))
    }

    /// Reads a session without locking it.
    pub fn read(&self, agent: &AgentId, name: &str) -> Result<Transcript, SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let missing = || SessionError::Missing { name: name.to_owned() };
        let dir = self.dir.open_subdir(agent.as_str())?.ok_or_else(missing)?;
        let line_file = dir.open_lines(&format!("{file}.jsonl"))?.ok_or_else(missing)?;
        let meta = meta(&dir, &file, name)?.unwrap_or_default();
        let lines = load(&line_file, 0)?;
        if lines.corrupt > 0 {
            tracing::warn!(target: "session", lines = lines.corrupt, "Lines that could not be read were left out");
        }
        let clean = |message: Message| message.map_text(|text| self.redactor.clean(&text).into_owned());
        Ok(Transcript {
            summary: self.redactor.clean(&meta.summary).into_owned(),
            omitted: lines.readable - lines.messages.len() as u64,
            messages: lines.messages.into_iter().map(|stored| clean(stored.message)).collect(),
        })
    }

    /// Removes a session, unless a turn has it locked.
    pub fn clear(&self, agent: &AgentId, name: &str) -> Result<(), SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let missing = || SessionError::Missing { name: name.to_owned() };
        let dir = self.dir.open_subdir(agent.as_str())?.ok_or_else(missing)?;
        let lines = format!("{file}.jsonl");
        dir.open_lines(&lines)?.ok_or_else(missing)?;
        let held = match dir.lock(&lines, self.lock_timeout) {
            Err(StateError::Busy { .. }) => return Err(SessionError::Busy { name: name.to_owned() }),
            held => held?,
        };
        meta(&dir, &file, name)?;
        dir.remove(&format!("{file}.meta.json"))?;
        dir.remove(&lines)?;
        drop(held);
        Ok(())
    }

    /// An agent's sessions, by name.
    pub fn list(&self, agent: &AgentId) -> Result<Vec<Listed>, SessionError> {
        let Some(dir) = self.dir.open_subdir(agent.as_str())? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for item in dir.list()? {
            let Some(file) = item.name.strip_suffix(".jsonl") else { continue };
            let known = || read_meta(&dir, file).ok().flatten().map(|meta| meta.key);
            let Some(name) = session_name(file).or_else(known) else { continue };
            let Some(line_file) = dir.open_lines(&item.name)? else { continue };
            let lines = load(&line_file, 0)?;
            let updated_at = Timestamp::at(item.modified).to_string();
            found.push(Listed { name, agent: agent.clone(), messages: lines.readable, updated_at });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// A session's metadata; an error when it belongs to another name.
fn meta(dir: &StateDir, file: &str, name: &str) -> Result<Option<Meta>, SessionError> {
    let found = read_meta(dir, file)?;
    match &found {
        Some(meta) if !meta.key.is_empty() && meta.key != name => {
            Err(SessionError::Taken { name: name.to_owned(), other: meta.key.clone() })
        }
        _ => Ok(found),
    }
}

/// Unreadable metadata is ignored: the messages are the session.
fn read_meta(dir: &StateDir, file: &str) -> Result<Option<Meta>, SessionError> {
    let Some(bytes) = dir.read(&format!("{file}.meta.json"), MAX_META_BYTES)? else { return Ok(None) };
    let meta = serde_json::from_slice(&bytes).ok();
    if meta.is_none() {
        tracing::warn!(target: "session", file, "The session's meta file cannot be read; its messages are");
    }
    Ok(meta)
}
