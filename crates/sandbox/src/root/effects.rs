//! The effects on a place: read, list, write, append, edit.
//!
//! Invariant: an effect uses the descriptors of the place and resolves no path.

use super::error::RootError;
use super::list::{Listed, Listing, MAX_ENTRIES, Page, read_page};
use super::place::{Place, PlaceHandle};
use super::read::{Excerpt, Span, read};
use super::reopen::{self, Proc};
use super::replace::{LockedWrite, Overwrite};
use super::write_context::WriteContext;
use crate::os_file::AsFd;
use picoclaw_policy::FileKind;

impl Place {
    /// Reads a part of the file.
    pub fn read(&self, span: Span) -> Result<Excerpt, RootError> {
        let fault = self.fault("read");
        match &self.handle {
            PlaceHandle::Open { meta, .. } if meta.kind() == FileKind::Directory => {
                Err(RootError::IsADirectory { path: self.asked() })
            }
            PlaceHandle::Open { handle, meta } => read(handle.as_fd(), meta, span).map_err(fault),
            PlaceHandle::File { handle, meta, entry } => {
                let proc = if self.base.disabled.proc() { Proc::Missing } else { Proc::Mounted };
                let opened = reopen::file(handle, meta, entry, proc).map_err(&fault)?;
                read(opened.as_fd(), meta, span).map_err(fault)
            }
            PlaceHandle::Directory { .. } => Err(RootError::IsADirectory { path: self.asked() }),
            other => Err(self.unusable("read", other)),
        }
    }

    /// Lists a page of the directory's entries.
    pub fn list(&self, page: Page) -> Result<Listing, RootError> {
        let fault = self.fault("list");
        let dir = match &self.handle {
            PlaceHandle::Open { handle, meta } if meta.kind() == FileKind::Directory => handle.as_fd(),
            PlaceHandle::Directory { handle } => handle.as_fd(),
            PlaceHandle::Open { .. } | PlaceHandle::File { .. } => {
                return Err(RootError::NotADirectory { path: self.asked() });
            }
            other => return Err(self.unusable("list", other)),
        };
        // A descriptor of its own, so that each listing starts at the first entry.
        match reopen::directory(dir).and_then(|dir| read_page(dir.as_fd(), page)).map_err(fault)? {
            Listed::Page(listing) => Ok(listing),
            Listed::TooMany => Err(RootError::TooLarge {
                path: self.asked(),
                size: MAX_ENTRIES as u64 + 1,
                limit: MAX_ENTRIES as u64,
            }),
        }
    }

    /// Replaces the file, or makes it and the missing directories above it.
    pub fn write(
        &self,
        content: &[u8],
        overwrite: Overwrite,
        context: &WriteContext,
    ) -> Result<(), RootError> {
        LockedWrite::begin(self, context)?.write(content, overwrite)
    }

    /// Appends to the file, or makes it.
    pub fn append(&self, content: &[u8], context: &WriteContext) -> Result<(), RootError> {
        LockedWrite::begin(self, context)?.append(content)
    }

    /// Replaces `old`, which must occur exactly once, by `new`.
    pub fn edit(&self, old: &str, new: &str, context: &WriteContext) -> Result<(), RootError> {
        if old.is_empty() {
            return Err(RootError::EmptyText);
        }
        if self.kind == FileKind::Missing && matches!(self.handle, PlaceHandle::Target(_)) {
            // Before the directories above it are made for nothing.
            return Err(RootError::NotFound { path: self.asked() });
        }
        LockedWrite::begin(self, context)?.edit(old, new)
    }

    fn unusable(&self, verb: &'static str, handle: &PlaceHandle) -> RootError {
        match handle {
            PlaceHandle::Missing => RootError::NotFound { path: self.asked() },
            PlaceHandle::Blocked(errno) => self.fault(verb)(*errno),
            PlaceHandle::Closed => self.closed(),
            PlaceHandle::Open { .. }
            | PlaceHandle::Directory { .. }
            | PlaceHandle::File { .. }
            | PlaceHandle::Target(_) => RootError::OtherUse { path: self.asked() },
        }
    }
}
