//! Resolves a path component by component, for everything that openat2(2) alone does not answer.
//!
//! The directories on the way stay open on a stack, so `..` in a link target goes back the way that
//! was taken, whatever is renamed meanwhile. A link is read through a descriptor for the link
//! itself. `O_PATH` opens neither block nor reach a device. Without `O_PATH` only directories are
//! opened, and everything else is looked at by its name in an open directory.
//!
//! Invariant: in a workspace the bottom of the stack is the workspace, and is never popped.

use super::metadata::FileMeta;
use super::protected_inodes::{ProtectedInodes, Protection};
use super::root_dir::{Base, LinkPosition, Root, Scope};
use crate::os_file::{
    AsFd, DirEntryHandle, Errno, OwnedFd, is_on_procfs, open_entry, os_str, read_entry_link,
};
use picoclaw_policy::{Access, FileKind, Link, LinkOwner};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The most directories that are open at once; each costs a descriptor.
const MAX_DEPTH: usize = 256;

/// The inode number of the root of every procfs.
const PROC_ROOT_INODE: u64 = 1;

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct DirEntryRef {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) dir_meta: FileMeta,
    pub(super) name: OsString,
}

/// What lies at the end of a walk.
#[derive(Debug)]
pub(super) enum WalkEnd {
    /// A directory.
    Directory { handle: Arc<OwnedFd> },
    /// Anything else that exists, and its directory entry.
    Object { handle: OwnedFd, meta: FileMeta, entry: DirEntryRef },
    /// Nothing: the last name in the innermost existing directory, and the directories missing
    /// between.
    Absent { entry: DirEntryRef, missing: Vec<OsString> },
    /// A link leads out of the workspace.
    Escaped,
    /// Something on the way is Protected.
    Protected,
    /// procfs, reached through a workspace.
    Procfs,
    /// The kernel refused a step.
    Blocked(Errno),
}

/// The result of a walk.
#[derive(Debug)]
pub(super) struct WalkResult {
    pub(super) end: WalkEnd,
    /// The path with links resolved as far as the walk went; the rest as text.
    pub(super) resolved: PathBuf,
    /// Every link that was followed, in order.
    pub(super) links: Vec<Link>,
}

/// Walks the clean path `path` from `root`; only link targets contain dots.
pub(super) fn walk(root: &Root, path: &Path, access: Access, protected: &ProtectedInodes) -> WalkResult {
    let bottom = Step {
        handle: Arc::clone(&root.handle),
        meta: root.meta,
        protection: protected.protection_of(&root.meta, Protection::Open),
        procfs: false,
        name: OsString::new(),
    };
    let mut walk = Walk {
        base: &root.base,
        access,
        protected,
        stack: vec![bottom],
        ahead: path.components().map(|part| part.as_os_str().to_owned()).collect(),
        outside: None,
        links: Vec::new(),
    };
    let end = walk.run();
    WalkResult { resolved: walk.resolved(&end), end, links: walk.links }
}

/// A directory on the way.
struct Step {
    handle: Arc<OwnedFd>,
    meta: FileMeta,
    protection: Protection,
    procfs: bool,
    name: OsString,
}

struct Walk<'a> {
    base: &'a Base,
    access: Access,
    protected: &'a ProtectedInodes,
    stack: Vec<Step>,
    /// Components that are left.
    ahead: VecDeque<OsString>,
    /// Set while a link target has left the workspace and may still lead back to it.
    outside: Option<PathBuf>,
    links: Vec<Link>,
}

impl Walk<'_> {
    fn run(&mut self) -> WalkEnd {
        let end = loop {
            let Some(next) = self.ahead.pop_front() else { break self.arrived() };
            if let Some(end) = self.step(next) {
                break end;
            }
        };
        match end {
            // Only the end counts: the way to a workspace leads through its Protected instance.
            WalkEnd::Directory { .. } | WalkEnd::Absent { .. } | WalkEnd::Blocked(_)
                if self.top().protection.forbids(self.access) =>
            {
                WalkEnd::Protected
            }
            end => end,
        }
    }

    fn arrived(&self) -> WalkEnd {
        match self.outside {
            Some(_) => WalkEnd::Escaped,
            None => WalkEnd::Directory { handle: Arc::clone(&self.top().handle) },
        }
    }

    /// Takes one component; returns an end if the walk ends with it.
    fn step(&mut self, next: OsString) -> Option<WalkEnd> {
        if let Some(at) = self.outside.take() {
            let position = self.base.step_outside(at, Path::new(&next));
            return self.continue_outside(position);
        }
        match next.as_encoded_bytes() {
            b"." => None,
            b".." => self.step_back(),
            _ => self.step_into(next),
        }
    }

    fn step_back(&mut self) -> Option<WalkEnd> {
        if self.stack.len() > 1 {
            self.stack.pop();
            return None;
        }
        match self.base.scope {
            Scope::Host => None,
            Scope::Workspace => {
                let at = self.base.resolved.as_path().to_owned();
                self.continue_outside(self.base.step_outside(at, Path::new("..")))
            }
        }
    }

    fn continue_outside(&mut self, position: LinkPosition) -> Option<WalkEnd> {
        match position {
            LinkPosition::Root => self.stack.truncate(1),
            LinkPosition::OnTheWay(at) => self.outside = Some(at),
            LinkPosition::Outside => return Some(WalkEnd::Escaped),
        }
        None
    }

    fn step_into(&mut self, name: OsString) -> Option<WalkEnd> {
        let opened = open_entry(self.top().handle.as_fd(), &name, self.base.disabled.lookup());
        let (meta, handle): (FileMeta, OwnedFd) = match opened {
            Ok(DirEntryHandle { stat, handle }) => (stat.into(), handle),
            Err(Errno::NOENT) => return Some(self.absent(name)),
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        let procfs = match self.is_procfs(&meta, &handle) {
            Ok(answer) => answer,
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        if procfs && self.base.scope == Scope::Workspace {
            return Some(WalkEnd::Procfs);
        }
        if procfs && self.is_process(&name) {
            // At once: magic links of a process lead to its files, not to what their text says.
            return Some(WalkEnd::Protected);
        }
        if meta.is_link() {
            return self.follow(name, &meta, &handle);
        }
        if self.base.scope == Scope::Workspace
            && self.protected.is_protected_mount(&meta, &handle, self.access)
        {
            return Some(WalkEnd::Protected);
        }
        let protection = self.protected.protection_of(&meta, self.top().protection);
        if meta.kind() == FileKind::Directory {
            if self.stack.len() == MAX_DEPTH {
                return Some(self.blocked(name, Errno::LOOP));
            }
            self.stack.push(Step { handle: Arc::new(handle), meta, protection, procfs, name });
            return None;
        }
        if !self.ahead.is_empty() {
            return Some(self.blocked(name, Errno::NOTDIR));
        }
        if protection.forbids(self.access) || self.protected.is_protected_hard_link(&meta, self.access) {
            return Some(WalkEnd::Protected);
        }
        Some(WalkEnd::Object { handle, meta, entry: self.entry(name) })
    }

    fn follow(&mut self, name: OsString, meta: &FileMeta, handle: &OwnedFd) -> Option<WalkEnd> {
        if cfg!(windows) {
            // Where a reparse point leads is not always a path, so each counts as one that leads
            // out.
            return Some(WalkEnd::Escaped);
        }
        if self.links.len() == MAX_LINKS {
            return Some(self.blocked(name, Errno::LOOP));
        }
        let (dir, lookup) = (self.top().handle.as_fd(), self.base.disabled.lookup());
        let target = match read_entry_link(handle, dir, &name, lookup) {
            Ok(target) => target,
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        self.links.push(Link { at: self.here().join(&name), owner: self.owner_of(meta) });
        for part in parts(&target).into_iter().rev() {
            self.ahead.push_front(part);
        }
        if !target.as_encoded_bytes().starts_with(b"/") {
            return None;
        }
        match self.base.scope {
            Scope::Host => {
                self.stack.truncate(1);
                None
            }
            Scope::Workspace => self.continue_outside(self.base.position(PathBuf::from("/"))),
        }
    }

    /// Who could have made this link. A directory above that others may write would let them move a
    /// link of root's here.
    fn owner_of(&self, link: &FileMeta) -> LinkOwner {
        let root_controlled = self.base.scope == Scope::Host
            && link.is_root_controlled()
            && self.stack.iter().all(|step| step.meta.is_root_controlled());
        if root_controlled { LinkOwner::System } else { LinkOwner::Anyone }
    }

    fn absent(&mut self, name: OsString) -> WalkEnd {
        let mut missing: Vec<_> = std::iter::once(name).chain(self.ahead.drain(..)).collect();
        if missing.iter().any(|part| matches!(part.as_encoded_bytes(), b"." | b"..")) {
            self.ahead.extend(missing);
            return WalkEnd::Blocked(Errno::NOENT);
        }
        let last = missing.pop().unwrap_or_default();
        WalkEnd::Absent { entry: self.entry(last), missing }
    }

    fn blocked(&mut self, name: OsString, errno: Errno) -> WalkEnd {
        self.ahead.push_front(name);
        WalkEnd::Blocked(errno)
    }

    /// Whether an object lies on a procfs; fstatfs(2) is needed only where the device changes.
    fn is_procfs(&self, meta: &FileMeta, handle: &OwnedFd) -> Result<bool, Errno> {
        if meta.dev() == self.top().meta.dev() {
            return Ok(self.top().procfs);
        }
        is_on_procfs(handle.as_fd())
    }

    /// Whether a name in the root of a procfs is a process, with its memory, environment and files.
    fn is_process(&self, name: &OsStr) -> bool {
        let top = self.top();
        top.procfs
            && top.meta.ino() == PROC_ROOT_INODE
            && name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    }

    fn entry(&self, name: OsString) -> DirEntryRef {
        DirEntryRef { dir: Arc::clone(&self.top().handle), dir_meta: self.top().meta, name }
    }

    fn top(&self) -> &Step {
        &self.stack[self.stack.len() - 1]
    }

    /// The path of the current directory.
    fn here(&self) -> PathBuf {
        let mut path = self.base.resolved.as_path().to_owned();
        path.extend(self.stack.iter().skip(1).map(|step| &step.name));
        path
    }

    fn resolved(&self, end: &WalkEnd) -> PathBuf {
        let mut path = self.here();
        match end {
            WalkEnd::Object { entry, .. } => path.push(&entry.name),
            WalkEnd::Absent { entry, missing } => {
                path.extend(missing);
                path.push(&entry.name);
            }
            _ => path.extend(&self.ahead),
        }
        path
    }
}

/// The components of a link target. A trailing slash requires a directory, as a last `.` does.
fn parts(target: &OsStr) -> Vec<OsString> {
    let bytes = target.as_encoded_bytes();
    let mut parts: Vec<_> = bytes
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
        .map(|part| os_str(part).to_owned())
        .collect();
    if bytes.ends_with(b"/") {
        parts.push(OsString::from("."));
    }
    parts
}
