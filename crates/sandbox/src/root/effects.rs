//! The five effects on a place. Nothing else in this room changes or reads a file.
//!
//! Invariant: an effect uses what the place holds; it looks no path up.

use super::error::RootError;
use super::list::{Listed, Listing, MAX_ENTRIES, Page, read_page};
use super::place::{Hold, Place};
use super::read::{Excerpt, Span, read};
use super::reopen::{self, Proc};
use super::replace::{Overwrite, Pen};
use super::scribe::Scribe;
use picoclaw_policy::FileKind;
use std::os::fd::AsFd;

impl Place {
    /// Reads a part of the file.
    pub fn read(&self, span: Span) -> Result<Excerpt, RootError> {
        let fault = self.fault("read");
        match &self.hold {
            Hold::Open { facts, .. } if facts.kind() == FileKind::Directory => {
                Err(RootError::IsADirectory { path: self.asked() })
            }
            Hold::Open { handle, facts } => read(handle.as_fd(), facts, span).map_err(fault),
            Hold::File { handle, facts, spot } => {
                let proc = if self.base.lacks.proc() { Proc::Missing } else { Proc::Mounted };
                let opened = reopen::file(handle, facts, spot, proc).map_err(&fault)?;
                read(opened.as_fd(), facts, span).map_err(fault)
            }
            Hold::Directory { .. } => Err(RootError::IsADirectory { path: self.asked() }),
            other => Err(self.cannot("read", other)),
        }
    }

    /// Lists a page of the directory's entries.
    pub fn list(&self, page: Page) -> Result<Listing, RootError> {
        let fault = self.fault("list");
        let dir = match &self.hold {
            Hold::Open { handle, facts } if facts.kind() == FileKind::Directory => handle.as_fd(),
            Hold::Directory { handle } => handle.as_fd(),
            Hold::Open { .. } | Hold::File { .. } => {
                return Err(RootError::NotADirectory { path: self.asked() });
            }
            other => return Err(self.cannot("list", other)),
        };
        // A handle of its own, so that every listing begins at the beginning.
        match reopen::directory(dir).and_then(|dir| read_page(dir.as_fd(), page)).map_err(fault)? {
            Listed::Page(listing) => Ok(listing),
            Listed::TooMany => Err(RootError::TooLarge {
                path: self.asked(),
                size: MAX_ENTRIES as u64 + 1,
                limit: MAX_ENTRIES as u64,
            }),
        }
    }

    /// Puts `content` in place of the file, making it and the directories above when they are missing.
    pub fn write(&self, content: &[u8], overwrite: Overwrite, scribe: &Scribe) -> Result<(), RootError> {
        Pen::take(self, scribe)?.write(content, overwrite)
    }

    /// Puts `content` behind the file's end, making it when it is missing.
    pub fn append(&self, content: &[u8], scribe: &Scribe) -> Result<(), RootError> {
        Pen::take(self, scribe)?.append(content)
    }

    /// Puts `new` in place of `old`, which must be in the file exactly once.
    pub fn edit(&self, old: &str, new: &str, scribe: &Scribe) -> Result<(), RootError> {
        if old.is_empty() {
            return Err(RootError::EmptyText);
        }
        if self.kind == FileKind::Missing && matches!(self.hold, Hold::Name(_)) {
            // Before the directories above it would be made for nothing.
            return Err(RootError::NotFound { path: self.asked() });
        }
        Pen::take(self, scribe)?.edit(old, new)
    }

    fn cannot(&self, verb: &'static str, hold: &Hold) -> RootError {
        match hold {
            Hold::Nothing => RootError::NotFound { path: self.asked() },
            Hold::Blocked(errno) => self.fault(verb)(*errno),
            Hold::Closed => self.closed(),
            Hold::Open { .. } | Hold::Directory { .. } | Hold::File { .. } | Hold::Name(_) => {
                RootError::OtherUse { path: self.asked() }
            }
        }
    }
}
