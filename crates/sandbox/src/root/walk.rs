//! The walking resolver: one component after the other, with the way back in hand.
//!
//! Every directory on the way stays open on a stack, so `..` in a link target is a step back on the way that
//! was really taken, whatever anybody renames meanwhile. A link is read through the handle on the link itself.
//! Opening with `O_PATH` has no effect on what is opened: nothing blocks, no device notices.
//!
//! Invariant: in a workspace the bottom of the stack is its handle, and there is no step below the bottom.

use super::base::{Base, Outside, Scope};
use super::directory::Root;
use super::facts::Facts;
use super::seals::{Mark, Seals};
use picoclaw_policy::{Access, FileKind, Link, LinkOwner};
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, readlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Links that are followed before a loop is assumed; the kernel's own number.
const LINKS: usize = 40;

/// Directories that are held open at once: each costs a descriptor.
const DEPTH: usize = 256;

/// The inode number of the top of every procfs.
const PROC_TOP: u64 = 1;

/// A name in a held directory.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) dir_facts: Facts,
    pub(super) name: OsString,
}

/// What lies at the end of a walk.
#[derive(Debug)]
pub(super) enum End {
    /// A directory, held.
    Directory { handle: Arc<OwnedFd> },
    /// Anything else that exists, held, and where its name is.
    Object { handle: OwnedFd, facts: Facts, spot: Spot },
    /// Nothing yet: the deepest directory there is, the directories missing below it, and the last name.
    Absent { spot: Spot, missing: Vec<OsString> },
    /// A link leads out of the workspace.
    Escaped,
    /// Protected, by the identity of something on the way.
    Sealed,
    /// procfs, reached through a workspace.
    Procfs,
    /// The kernel would not go on.
    Blocked(Errno),
}

/// A walk that is over.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) end: End,
    /// The path with every link followed, as far as the walk went, and the rest as text.
    pub(super) resolved: PathBuf,
    /// Every link that was followed, in order.
    pub(super) links: Vec<Link>,
}

/// Walks `path` from `root`. The path is clean; only link targets hold dots.
pub(super) fn walk(root: &Root, path: &Path, access: Access, seals: &Seals) -> Walked {
    let bottom = Step {
        handle: Arc::clone(&root.handle),
        facts: root.facts,
        mark: seals.mark(&root.facts, Mark::Free),
        procfs: false,
        name: OsString::new(),
    };
    let mut walk = Walk {
        base: &root.base,
        access,
        seals,
        stack: vec![bottom],
        ahead: path.components().map(|part| part.as_os_str().to_owned()).collect(),
        outside: None,
        links: Vec::new(),
    };
    let end = walk.run();
    Walked { resolved: walk.resolved(&end), end, links: walk.links }
}

/// A directory on the way.
struct Step {
    handle: Arc<OwnedFd>,
    facts: Facts,
    mark: Mark,
    procfs: bool,
    name: OsString,
}

struct Walk<'a> {
    base: &'a Base,
    access: Access,
    seals: &'a Seals,
    stack: Vec<Step>,
    /// Components still to come.
    ahead: VecDeque<OsString>,
    /// Set while a link target has left the handle and may still come back to it.
    outside: Option<PathBuf>,
    links: Vec<Link>,
}

impl Walk<'_> {
    fn run(&mut self) -> End {
        let end = loop {
            let Some(next) = self.ahead.pop_front() else { break self.arrived() };
            if let Some(end) = self.step(next) {
                break end;
            }
        };
        match end {
            // Where the walk ended is what counts: the way to a workspace leads through the instance around it.
            End::Directory { .. } | End::Absent { .. } | End::Blocked(_)
                if self.top().mark.forbids(self.access) =>
            {
                End::Sealed
            }
            end => end,
        }
    }

    fn arrived(&self) -> End {
        match self.outside {
            Some(_) => End::Escaped,
            None => End::Directory { handle: Arc::clone(&self.top().handle) },
        }
    }

    /// Goes one component further; an end when there is no further.
    fn step(&mut self, next: OsString) -> Option<End> {
        if let Some(at) = self.outside.take() {
            let standing = self.base.step_outside(at, Path::new(&next));
            return self.go_on_outside(standing);
        }
        match next.as_bytes() {
            b"." => None,
            b".." => self.step_back(),
            _ => self.step_into(next),
        }
    }

    fn step_back(&mut self) -> Option<End> {
        if self.stack.len() > 1 {
            self.stack.pop();
            return None;
        }
        match self.base.scope {
            Scope::Host => None,
            Scope::Workspace => {
                let standing =
                    self.base.step_outside(self.base.resolved.as_path().to_owned(), Path::new(".."));
                self.go_on_outside(standing)
            }
        }
    }

    fn go_on_outside(&mut self, standing: Outside) -> Option<End> {
        match standing {
            Outside::Home => self.stack.truncate(1),
            Outside::OnTheWay(at) => self.outside = Some(at),
            Outside::Elsewhere => return Some(End::Escaped),
        }
        None
    }

    fn step_into(&mut self, name: OsString) -> Option<End> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.top().handle, &name, flags, Mode::empty())
            .and_then(|handle| Ok((fstat(&handle)?.into(), handle)));
        let (facts, handle): (Facts, OwnedFd) = match opened {
            Ok(found) => found,
            Err(Errno::NOENT) => return Some(self.absent(name)),
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        let procfs = match self.is_procfs(&facts, &handle) {
            Ok(answer) => answer,
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        if procfs && self.base.scope == Scope::Workspace {
            return Some(End::Procfs);
        }
        if procfs && self.is_process(&name) {
            // At once: the links inside a process lead to its files, not to what they say.
            return Some(End::Sealed);
        }
        if facts.is_link() {
            return self.follow(name, &facts, &handle);
        }
        if self.base.scope == Scope::Workspace && self.seals.is_sealed_mount(&facts, &handle, self.access) {
            return Some(End::Sealed);
        }
        let mark = self.seals.mark(&facts, self.top().mark);
        if facts.kind() == FileKind::Directory {
            if self.stack.len() == DEPTH {
                return Some(self.blocked(name, Errno::LOOP));
            }
            self.stack.push(Step { handle: Arc::new(handle), facts, mark, procfs, name });
            return None;
        }
        if !self.ahead.is_empty() {
            return Some(self.blocked(name, Errno::NOTDIR));
        }
        if mark.forbids(self.access) || self.seals.is_sealed_elsewhere(&facts, self.access) {
            return Some(End::Sealed);
        }
        Some(End::Object { handle, facts, spot: self.spot(name) })
    }

    fn follow(&mut self, name: OsString, facts: &Facts, handle: &OwnedFd) -> Option<End> {
        if self.links.len() == LINKS {
            return Some(self.blocked(name, Errno::LOOP));
        }
        let target = match readlinkat(handle, c"", Vec::new()) {
            Ok(target) => OsString::from_vec(target.into_bytes()),
            Err(errno) => return Some(self.blocked(name, errno)),
        };
        self.links.push(Link { at: self.here().join(&name), owner: self.owner_of(facts) });
        for part in parts(&target).into_iter().rev() {
            self.ahead.push_front(part);
        }
        if !target.as_bytes().starts_with(b"/") {
            return None;
        }
        match self.base.scope {
            Scope::Host => {
                self.stack.truncate(1);
                None
            }
            Scope::Workspace => {
                let standing = self.base.standing(PathBuf::from("/"));
                self.go_on_outside(standing)
            }
        }
    }

    /// Who could have put a link here. An agent writes in its workspace, and others where their directories let them;
    /// such a directory anywhere above would let them move a link of the system's to where it is met.
    fn owner_of(&self, link: &Facts) -> LinkOwner {
        let systems_own = self.base.scope == Scope::Host
            && link.is_systems_own()
            && self.stack.iter().all(|step| step.facts.is_systems_own());
        if systems_own { LinkOwner::System } else { LinkOwner::Anyone }
    }

    fn absent(&mut self, name: OsString) -> End {
        let mut missing: Vec<_> = std::iter::once(name).chain(self.ahead.drain(..)).collect();
        if missing.iter().any(|part| matches!(part.as_bytes(), b"." | b"..")) {
            self.ahead.extend(missing);
            return End::Blocked(Errno::NOENT);
        }
        let last = missing.pop().unwrap_or_default();
        End::Absent { spot: self.spot(last), missing }
    }

    fn blocked(&mut self, name: OsString, errno: Errno) -> End {
        self.ahead.push_front(name);
        End::Blocked(errno)
    }

    /// Whether an object lies on a procfs. Only a change of device needs the question.
    fn is_procfs(&self, facts: &Facts, handle: &OwnedFd) -> Result<bool, Errno> {
        if facts.dev() == self.top().facts.dev() {
            return Ok(self.top().procfs);
        }
        Ok(fstatfs(handle)?.f_type == PROC_SUPER_MAGIC)
    }

    /// Whether a name at the top of a procfs is a process: its memory, environment and open files.
    fn is_process(&self, name: &OsStr) -> bool {
        let top = self.top();
        top.procfs && top.facts.ino() == PROC_TOP && name.as_bytes().iter().all(u8::is_ascii_digit)
    }

    fn spot(&self, name: OsString) -> Spot {
        Spot { dir: Arc::clone(&self.top().handle), dir_facts: self.top().facts, name }
    }

    fn top(&self) -> &Step {
        // The bottom is never popped.
        &self.stack[self.stack.len() - 1]
    }

    /// The directory that the walk stands in.
    fn here(&self) -> PathBuf {
        let mut path = self.base.resolved.as_path().to_owned();
        path.extend(self.stack.iter().skip(1).map(|step| &step.name));
        path
    }

    fn resolved(&self, end: &End) -> PathBuf {
        let mut path = self.here();
        match end {
            End::Object { spot, .. } => path.push(&spot.name),
            End::Absent { spot, missing } => {
                path.extend(missing);
                path.push(&spot.name);
            }
            _ => path.extend(&self.ahead),
        }
        path
    }
}

/// The components of a link target. A slash at its end asks for a directory, which a last `.` asks for too.
fn parts(target: &OsStr) -> Vec<OsString> {
    let bytes = target.as_bytes();
    let mut parts: Vec<_> = bytes
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
        .map(|part| OsStr::from_bytes(part).to_owned())
        .collect();
    if bytes.ends_with(b"/") {
        parts.push(OsString::from("."));
    }
    parts
}
