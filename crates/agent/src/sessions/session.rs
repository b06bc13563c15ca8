//! One session, locked by one turn. Configured secrets are filtered from what is stored.

use super::error::SessionError;
use super::load::{LoadedMessages, load};
use super::meta::Meta;
use crate::message::Message;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::state_dir::{LineFile, StateDir, SyncHandle};

/// A session that one turn has locked. Dropping it releases the lock.
#[derive(Debug)]
pub struct Session {
    /// `None` for a session in memory.
    file: Option<SessionFile>,
    meta: Meta,
    history: Vec<StoredMessage>,
    /// How many lines the file had when it was loaded; zero when it was not.
    lines: u64,
    redactor: Redactor,
}

/// A message and its line number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// The line number, from zero.
    pub line: u64,
    /// The message.
    pub message: Message,
}

/// The files of a session.
#[derive(Debug)]
pub(super) struct SessionFile {
    pub(super) dir: StateDir,
    /// The file name without its extension.
    pub(super) name: String,
    pub(super) line_file: LineFile,
}

/// The state of a session at one time.
#[derive(Debug, Clone)]
pub struct RollbackPoint {
    length: u64,
    meta: Meta,
}

impl Session {
    /// A session that is not stored, with these earlier messages.
    pub fn in_memory(messages: Vec<Message>, redactor: Redactor) -> Self {
        let history: Vec<StoredMessage> =
            (0..).zip(messages).map(|(line, message)| StoredMessage { line, message }).collect();
        let lines = history.len() as u64;
        Self { file: None, meta: Meta::default(), history, lines, redactor }
    }

    /// A session with every message since its summary.
    pub(super) fn load(file: SessionFile, meta: Meta, redactor: Redactor) -> Result<Self, SessionError> {
        let LoadedMessages { messages, corrupt, total, .. } = load(&file.line_file, meta.skip)?;
        if corrupt > 0 {
            let session = picoclaw_sandbox::printable(&meta.key);
            tracing::warn!(target: "session", %session, lines = corrupt, "Lines that could not be read were left out");
        }
        // After lines were removed by hand the file may be shorter than `skip`; new lines must not
        // be skipped.
        let meta = Meta { skip: meta.skip.min(total), ..meta };
        Ok(Self { file: Some(file), meta, history: messages.into(), lines: total, redactor })
    }

    /// A session to append to, without its messages.
    pub(super) fn append_only(file: SessionFile, meta: Meta, redactor: Redactor) -> Self {
        Self { file: Some(file), meta, history: Vec::new(), lines: 0, redactor }
    }

    /// Takes the messages since the summary.
    pub fn take_history(&mut self) -> Vec<StoredMessage> {
        std::mem::take(&mut self.history)
    }

    /// The line number behind the history.
    pub fn end(&self) -> u64 {
        self.lines
    }

    /// The summary of the messages before them.
    pub fn summary(&self) -> &str {
        &self.meta.summary
    }

    /// Appends a message, secrets filtered. It survives the end of this process.
    pub fn append(&mut self, message: &Message) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut message = message.clone().map_text(|text| self.redactor.clean(&text).into_owned());
        message.created_at.get_or_insert_with(|| Timestamp::now().to_string());
        // A message is text and lists of text: it has a JSON form.
        let line = serde_json::to_vec(&message).unwrap_or_default();
        Ok(file.line_file.append(&line)?)
    }

    /// Makes the appended messages durable; `None` for a session in memory.
    pub fn durability(&self) -> Option<SyncHandle> {
        self.file.as_ref().map(|file| file.line_file.sync_handle())
    }

    /// Replaces everything before the line `first` by `summary`.
    pub fn set_summary(&mut self, summary: &str, first: u64) -> Result<(), SessionError> {
        let summary = self.redactor.clean(summary).into_owned();
        self.set_meta(Meta { summary, skip: first, ..self.meta.clone() })
    }

    /// The current state, to roll back to.
    pub fn rollback_point(&self) -> RollbackPoint {
        let length = self.file.as_ref().map_or(0, |file| file.line_file.length());
        RollbackPoint { length, meta: self.meta.clone() }
    }

    /// Undoes everything since `point`; a session that was created then is removed.
    pub fn roll_back(&mut self, point: &RollbackPoint) -> Result<(), SessionError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.line_file.truncate(point.length)?;
        if point.length == 0 {
            file.dir.remove(&format!("{}.meta.json", file.name))?;
            return Ok(file.dir.remove(&format!("{}.jsonl", file.name))?);
        }
        if point.meta == self.meta { Ok(()) } else { self.set_meta(point.meta.clone()) }
    }

    fn set_meta(&mut self, meta: Meta) -> Result<(), SessionError> {
        if let Some(file) = &self.file {
            let text = serde_json::to_vec(&meta).unwrap_or_default();
            file.dir.replace(&format!("{}.meta.json", file.name), &text)?;
        }
        self.meta = meta;
        Ok(())
    }
}
