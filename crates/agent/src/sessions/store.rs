//! Every session of every agent.
//!
//! Invariant: an agent's sessions are looked for below its own name and nowhere else.

use super::error::SessionError;
use super::meta::Meta;
use super::name::{file_name, name_of};
use super::reading;
use super::session::{Kept, Session};
use crate::message::Message;
use picoclaw_policy::AgentId;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use std::path::Path;
use std::time::Duration;

/// How long a turn waits for another one in the same session.
const PATIENCE: Duration = Duration::from_secs(3);

/// The largest meta file that is read.
const META: u64 = 4 << 20;

/// Where sessions are kept.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: StateDir,
    redactor: Redactor,
    patience: Duration,
}

/// How much of a session a turn needs to know.
#[derive(Debug, Clone, Copy)]
enum Recall {
    Everything,
    Nothing,
}

/// One session, as a listing names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub agent: AgentId,
    /// How many messages it has.
    pub messages: u64,
    /// When it was written last, in RFC 3339.
    pub updated_at: String,
}

/// Everything that was said in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The summary that is sent in place of older messages; empty when there is none.
    pub summary: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// How many older ones are too many to be held.
    pub omitted: u64,
}

impl Sessions {
    /// The sessions of the instance at `home`; `redactor` goes over everything that is kept.
    pub fn open(home: &Path, redactor: Redactor) -> Result<Self, SessionError> {
        Ok(Self { dir: StateDir::open(home, "sessions")?, redactor, patience: PATIENCE })
    }

    /// Waits this long for another turn, in place of 3 seconds.
    #[must_use]
    pub fn waiting(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What goes over everything that is kept.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Opens a session for one turn, and makes it if need be. Waits for another turn, but not long.
    pub fn hold(&self, agent: &AgentId, name: &str) -> Result<Session, SessionError> {
        self.open_for(agent, name, Recall::Everything)
    }

    /// The same for a turn that only adds: what was said before is left unread, however much it is.
    pub fn hold_to_add(&self, agent: &AgentId, name: &str) -> Result<Session, SessionError> {
        self.open_for(agent, name, Recall::Nothing)
    }

    fn open_for(&self, agent: &AgentId, name: &str, recall: Recall) -> Result<Session, SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let dir = self.dir.subdir(agent.as_str())?;
        let line_file = match dir.lock(&format!("{file}.jsonl"), self.patience) {
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
        let kept = Kept { dir, file, line_file };
        match recall {
            Recall::Everything => Session::recall(kept, meta, self.redactor.clone()),
            Recall::Nothing => Ok(Session::add_to(kept, meta, self.redactor.clone())),
        }
    }

    /// Reads a session, whoever writes to it.
    pub fn read(&self, agent: &AgentId, name: &str) -> Result<Transcript, SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let missing = || SessionError::Missing { name: name.to_owned() };
        let dir = self.dir.open_subdir(agent.as_str())?.ok_or_else(missing)?;
        let line_file = dir.open_lines(&format!("{file}.jsonl"))?.ok_or_else(missing)?;
        let meta = meta(&dir, &file, name)?.unwrap_or_default();
        let lines = reading::read(&line_file, 0)?;
        if lines.corrupt > 0 {
            tracing::warn!(target: "session", lines = lines.corrupt, "Lines that could not be read were left out");
        }
        let clean = |message: Message| message.map_text(|text| self.redactor.clean(&text).into_owned());
        Ok(Transcript {
            summary: self.redactor.clean(&meta.summary).into_owned(),
            omitted: lines.readable - lines.messages.len() as u64,
            messages: lines.messages.into_iter().map(|(_, message)| clean(message)).collect(),
        })
    }

    /// Removes a session; not while a turn runs in it.
    pub fn clear(&self, agent: &AgentId, name: &str) -> Result<(), SessionError> {
        let file = file_name(name).ok_or(SessionError::BadName)?;
        let missing = || SessionError::Missing { name: name.to_owned() };
        let dir = self.dir.open_subdir(agent.as_str())?.ok_or_else(missing)?;
        let lines = format!("{file}.jsonl");
        dir.open_lines(&lines)?.ok_or_else(missing)?;
        let held = match dir.lock(&lines, self.patience) {
            Err(StateError::Busy { .. }) => return Err(SessionError::Busy { name: name.to_owned() }),
            held => held?,
        };
        meta(&dir, &file, name)?;
        dir.remove(&format!("{file}.meta.json"))?;
        dir.remove(&lines)?;
        drop(held);
        Ok(())
    }

    /// Names an agent's sessions, in the order of their names.
    pub fn list(&self, agent: &AgentId) -> Result<Vec<Listed>, SessionError> {
        let Some(dir) = self.dir.open_subdir(agent.as_str())? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for item in dir.list()? {
            let Some(file) = item.name.strip_suffix(".jsonl") else { continue };
            let known = || read_meta(&dir, file).ok().flatten().map(|meta| meta.key);
            let Some(name) = name_of(file).or_else(known) else { continue };
            let Some(line_file) = dir.open_lines(&item.name)? else { continue };
            let lines = reading::read(&line_file, 0)?;
            let updated_at = Timestamp::at(item.modified).to_string();
            found.push(Listed { name, agent: agent.clone(), messages: lines.readable, updated_at });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// A session's meta; an error when it belongs to another name.
fn meta(dir: &StateDir, file: &str, name: &str) -> Result<Option<Meta>, SessionError> {
    let found = read_meta(dir, file)?;
    match &found {
        Some(meta) if !meta.key.is_empty() && meta.key != name => {
            Err(SessionError::Taken { name: name.to_owned(), other: meta.key.clone() })
        }
        _ => Ok(found),
    }
}

/// One that cannot be read is as good as none: the messages are the session.
fn read_meta(dir: &StateDir, file: &str) -> Result<Option<Meta>, SessionError> {
    let Some(bytes) = dir.read(&format!("{file}.meta.json"), META)? else { return Ok(None) };
    let meta = serde_json::from_slice(&bytes).ok();
    if meta.is_none() {
        tracing::warn!(target: "session", file, "The session's meta file cannot be read; its messages are");
    }
    Ok(meta)
}
