//! One session, held by one turn.
//!
//! Invariant: what is kept holds no configured secret; a turn that is taken back leaves no trace.

use super::error::SessionError;
use super::meta::Meta;
use super::reading;
use crate::message::Message;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::state_dir::{LineFile, StateDir, SyncHandle};

/// A session that one turn holds. Dropping it lets others in.
#[derive(Debug)]
pub struct Session {
    /// Nothing for a session that is not kept.
    kept: Option<Kept>,
    meta: Meta,
    history: Vec<Said>,
    /// How many lines the file had when it was read; nought when it was not.
    lines: u64,
    redactor: Redactor,
}

/// A message of the history, and the number of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The number of its line, from nought.
    pub line: u64,
    /// What was said.
    pub message: Message,
}

/// Where a session is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) dir: StateDir,
    /// The file name without its ending.
    pub(super) file: String,
    pub(super) line_file: LineFile,
}

/// A point to come back to.
#[derive(Debug, Clone)]
pub struct Mark {
    length: u64,
    meta: Meta,
}

impl Session {
    /// A session that nobody keeps.
    pub fn fleeting(redactor: Redactor) -> Self {
        Self { kept: None, meta: Meta::default(), history: Vec::new(), lines: 0, redactor }
    }

    /// A session that nobody keeps, with what was said before.
    pub fn recalling(said: Vec<Message>, redactor: Redactor) -> Self {
        let history: Vec<Said> = (0..).zip(said).map(|(line, message)| Said { line, message }).collect();
        let lines = history.len() as u64;
        Self { kept: None, meta: Meta::default(), history, lines, redactor }
    }

    /// A session with everything that was said in it since its summary.
    pub(super) fn recall(kept: Kept, meta: Meta, redactor: Redactor) -> Result<Self, SessionError> {
        let lines = reading::read(&kept.line_file, meta.skip)?;
        if lines.corrupt > 0 {
            let (lines, session) = (lines.corrupt, picoclaw_sandbox::printable(&meta.key));
            tracing::warn!(target: "session", %session, lines, "Lines that could not be read were left out");
        }
        let history = lines.messages.into_iter().map(|(line, message)| Said { line, message }).collect();
        // A file that lost lines by hand has fewer than are left out; what is new must not be left out for that.
        let meta = Meta { skip: meta.skip.min(lines.total), ..meta };
        Ok(Self { kept: Some(kept), meta, history, lines: lines.total, redactor })
    }

    /// A session of which nothing is known but where it ends.
    pub(super) fn add_to(kept: Kept, meta: Meta, redactor: Redactor) -> Self {
        Self { kept: Some(kept), meta, history: Vec::new(), lines: 0, redactor }
    }

    /// The messages that were said and are not part of the summary, taken out.
    pub fn take_history(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.history)
    }

    /// The number of the line behind the history.
    pub fn end(&self) -> u64 {
        self.lines
    }

    /// What was said before them.
    pub fn summary(&self) -> &str {
        &self.meta.summary
    }

    /// Adds a message, secrets filtered. It survives the end of this process.
    pub fn append(&mut self, message: &Message) -> Result<(), SessionError> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let mut message = message.clone().map_text(|text| self.redactor.clean(&text).into_owned());
        message.created_at.get_or_insert_with(|| Timestamp::now().to_string());
        // A message is text and lists of text: it has a JSON form.
        let line = serde_json::to_vec(&message).unwrap_or_default();
        Ok(kept.line_file.append(&line)?)
    }

    /// What brings everything that was added onto the disk; nothing for a session that is not kept.
    pub fn durability(&self) -> Option<SyncHandle> {
        self.kept.as_ref().map(|kept| kept.line_file.sync_handle())
    }

    /// From now on `summary` stands for everything before the line `first`.
    pub fn summarise(&mut self, summary: &str, first: u64) -> Result<(), SessionError> {
        let summary = self.redactor.clean(summary).into_owned();
        self.set_meta(Meta { summary, skip: first, ..self.meta.clone() })
    }

    /// Where the session is now.
    pub fn mark(&self) -> Mark {
        let length = self.kept.as_ref().map_or(0, |kept| kept.line_file.length());
        Mark { length, meta: self.meta.clone() }
    }

    /// Takes back everything since `mark`; a session that began then is gone.
    pub fn roll_back(&mut self, mark: &Mark) -> Result<(), SessionError> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        kept.line_file.truncate(mark.length)?;
        if mark.length == 0 {
            kept.dir.remove(&format!("{}.meta.json", kept.file))?;
            return Ok(kept.dir.remove(&format!("{}.jsonl", kept.file))?);
        }
        if mark.meta == self.meta { Ok(()) } else { self.set_meta(mark.meta.clone()) }
    }

    fn set_meta(&mut self, meta: Meta) -> Result<(), SessionError> {
        if let Some(kept) = &self.kept {
            let text = serde_json::to_vec(&meta).unwrap_or_default();
            kept.dir.replace(&format!("{}.meta.json", kept.file), &text)?;
        }
        self.meta = meta;
        Ok(())
    }
}
