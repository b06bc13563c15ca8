//! A plan taken apart: what its file tree is built on, and what is mounted there for each child.
//!
//! The first part, the pieces, is much the same for every child of an instance, so it can be built once and kept (see
//! `frame`). Everything that belongs to one project or one principal is made anew, in the yard: a small file system of
//! the child's own, of which parts are mounted where they are needed.
//!
//! Invariant: pieces and steps together build exactly what the plan says, parents first.

use crate::isolate::error::IsolateError;
use crate::isolate::host::Kind;
use crate::isolate::native::{DEVICES, c_string, identity, nul};
use crate::isolate::plan::Plan;
use crate::isolate::view::{Rule, Why};
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::mount::{Ground, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use picoclaw_sys::linux::{Bind, Step};
use rustix::fs::{AtFlags, CWD, FileType, Stat, statat};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Directories at the top that every cage has in the same way. What lies beneath any other one is a child's own.
const SYSTEM: [&[u8]; 14] = [
    b"bin", b"dev", b"etc", b"lib", b"lib32", b"lib64", b"libx32", b"proc", b"run", b"sbin", b"sys", b"tmp",
    b"usr", b"var",
];

/// One thing that lies in the tree itself; its path has no slash in front and no NUL in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'p> {
    /// A directory.
    Directory(&'p [u8]),
    /// An empty file to mount on.
    MountPoint(&'p [u8]),
    /// A symbolic link to the first, at the second.
    Link(&'p [u8], &'p [u8]),
    /// A small public file: a copy costs a tenth of a mount, and the root it lies on is read-only too.
    Copy(Copied<'p>, &'p [u8]),
}

/// A file as it was when it was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Copied<'p> {
    pub(super) source: &'p Path,
    pub(super) version: Version,
}

/// Which file it was, and in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) written: (i64, u64),
    pub(super) changed: (i64, u64),
}

impl Version {
    /// That of a small public file; `None` for anything else.
    pub(super) fn of(stat: &Stat) -> Option<Self> {
        const SMALL: u64 = 64 << 10;
        let everybodys =
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_mode & 0o004 != 0;
        let size =
            u64::try_from(stat.st_size).ok().filter(|size| everybodys && (1..=SMALL).contains(size))?;
        Some(Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size,
            written: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        })
    }
}

impl Version {
    /// Bytes that differ whenever the version does.
    pub(super) fn bytes(&self) -> [u8; 56] {
        let ((written, written_ns), (changed, changed_ns)) = (self.written, self.changed);
        let numbers =
            [self.device, self.inode, self.size, written as u64, written_ns, changed as u64, changed_ns];
        let mut bytes = [0; 56];
        bytes
            .chunks_exact_mut(8)
            .zip(numbers)
            .for_each(|(at, number)| at.copy_from_slice(&number.to_ne_bytes()));
        bytes
    }
}

/// A plan's file tree.
#[derive(Debug)]
pub(super) struct Layout<'p> {
    /// What the root is built of.
    pub(super) pieces: Vec<Piece<'p>>,
    /// What is then done for one child.
    pub(super) steps: Vec<Step>,
}

/// Takes a plan's view apart.
pub(super) fn layout(plan: &Plan) -> Result<Layout<'_>, IsolateError> {
    let rules = plan.view.len();
    let mut tree = Tree {
        pieces: Vec::with_capacity(rules + 24),
        // With room for what others do before and after.
        steps: Vec::with_capacity(rules + 24),
        in_tree: Vec::with_capacity(16),
        parent: None,
        in_yard: Vec::new(),
        parts: Vec::with_capacity(8),
        shown: Vec::with_capacity(rules),
    };
    for directory in [&b"proc"[..], b"run", b"dev", b"dev/pts"] {
        tree.piece_directory(directory);
    }
    tree.devices()?;
    for rule in &plan.view {
        tree.rule(rule)?;
    }
    Ok(Layout { pieces: tree.pieces, steps: tree.steps })
}

/// Where something is to be made.
enum Place {
    /// In the tree itself.
    Tree,
    /// In the yard, at this path, of which the first so many bytes are there already.
    Yard(Vec<u8>, usize),
    /// In something that the host shows, of which the first so many bytes are the way there.
    Shown(usize),
}

struct Tree<'p> {
    pieces: Vec<Piece<'p>>,
    steps: Vec<Step>,
    /// Directories that were made: in the tree, in the yard (with its parts' numbers).
    in_tree: Vec<&'p [u8]>,
    /// The last one in the tree in which something was put, with all above it.
    parent: Option<&'p [u8]>,
    in_yard: Vec<Vec<u8>>,
    /// Parts of the yard by where they are mounted; a part's name is its number.
    parts: Vec<&'p [u8]>,
    /// What the host shows or the tree links: beneath these lies somebody else's ground.
    shown: Vec<&'p [u8]>,
}

/// Whether `inner` lies beneath `outer`.
fn is_beneath(outer: &[u8], inner: &[u8]) -> bool {
    // That byte first: few paths get any further.
    inner.get(outer.len()) == Some(&b'/') && inner.starts_with(outer)
}

fn c_bytes(path: &[u8]) -> Result<CString, IsolateError> {
    c_string(Path::new(std::ffi::OsStr::from_bytes(path)))
}

/// A path as a piece names it.
fn piece_path(path: &Path) -> Result<&[u8], IsolateError> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&0) { Err(nul(path)) } else { Ok(bytes) }
}

/// The longest of `among` that `target` lies beneath: its length and its number.
fn nearest(among: &[&[u8]], target: &[u8]) -> Option<(usize, usize)> {
    let mut best = None;
    for (number, outer) in among.iter().enumerate() {
        if is_beneath(outer, target) {
            best = best.max(Some((outer.len(), number)));
        }
    }
    best
}

/// Each directory above the last part of `path`, outermost first, beginning after `from` bytes.
fn above(path: &[u8], from: usize) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(move |(at, byte)| *at > from && **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}

impl<'p> Tree<'p> {
    fn rule(&mut self, rule: &'p Rule) -> Result<(), IsolateError> {
        let target = piece_path(rule.target())?;
        let target = target.strip_prefix(b"/").unwrap_or(target);
        match rule {
            Rule::Show { source, mode, kind, why, .. } => {
                let place = self.place(target)?;
                if *why == Why::Etc
                    && *kind == Kind::File
                    && matches!(place, Place::Tree)
                    && let Some(version) = version(source)
                {
                    self.parents_in_tree(target);
                    self.pieces.push(Piece::Copy(Copied { source, version }, target));
                    return Ok(());
                }
                let ground = self.mount_point(target, *kind, &place)?;
                let read_only = if *mode == ExposeMode::ReadOnly { READ_ONLY } else { 0 };
                self.steps.push(Step::Bind(Bind {
                    source: c_string(source)?,
                    target: c_bytes(target)?,
                    ground,
                    attributes: NO_SUID | NO_DEVICES | read_only,
                    identity: Some(identity(source)?),
                }));
                self.shown.push(target);
            }
            Rule::Link { to, .. } => {
                let to = piece_path(to)?;
                match self.place(target)? {
                    Place::Tree => {
                        self.parents_in_tree(target);
                        self.pieces.push(Piece::Link(to, target));
                    }
                    Place::Yard(path, made) => {
                        self.parents_in_yard(&path, made)?;
                        self.steps.push(Step::Link(c_bytes(to)?, c_bytes(&path)?));
                    }
                    // What the host shows has its own links.
                    Place::Shown(_) => {}
                }
                self.shown.push(target);
            }
            Rule::Scratch { .. } => self.part(target, 0o1777, NO_SUID | NO_DEVICES)?,
            Rule::Hide { kind: Kind::Directory, .. } => {
                self.part(target, 0o755, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)?;
            }
            Rule::Hide { kind: Kind::File, .. } => {
                let place = self.place(target)?;
                let ground = self.mount_point(target, Kind::File, &place)?;
                self.steps.push(Step::Bind(Bind {
                    source: c"/dev/null".into(),
                    target: c_bytes(target)?,
                    ground,
                    attributes: NO_SUID | NO_DEVICES | NO_EXEC | READ_ONLY,
                    identity: None,
                }));
            }
        }
        Ok(())
    }

    fn devices(&mut self) -> Result<(), IsolateError> {
        for device in DEVICES {
            if statat(CWD, device, AtFlags::empty()).is_err() {
                continue;
            }
            let target = device.to_bytes().strip_prefix(b"/").unwrap_or_default();
            self.pieces.push(Piece::MountPoint(target));
            // Read-only, a device can be written to as ever; but nobody who owns it on the host changes its mode.
            let (ground, attributes) = (Ground::Own, NO_SUID | NO_EXEC | READ_ONLY);
            let (source, target) = (device.into(), c_bytes(target)?);
            self.steps.push(Step::Bind(Bind { source, target, ground, attributes, identity: None }));
        }
        for (to, at) in [
            (&b"/proc/self/fd"[..], &b"dev/fd"[..]),
            (b"/proc/self/fd/0", b"dev/stdin"),
            (b"/proc/self/fd/1", b"dev/stdout"),
            (b"/proc/self/fd/2", b"dev/stderr"),
            (b"pts/ptmx", b"dev/ptmx"),
        ] {
            self.pieces.push(Piece::Link(to, at));
        }
        Ok(())
    }

    /// Where `target` is to be made. What lies in nothing else and is no part of the system gets a part of the yard at the
    /// top, so that the tree knows nothing of a project's path.
    fn place(&mut self, target: &'p [u8]) -> Result<Place, IsolateError> {
        match (nearest(&self.parts, target), nearest(&self.shown, target)) {
            (Some((length, number)), shown) if shown.is_none_or(|(other, _)| other < length) => {
                return Ok(in_part(number, target, length));
            }
            (_, Some((length, _))) => return Ok(Place::Shown(length)),
            _ => {}
        }
        let Some(slash) = target.iter().position(|byte| *byte == b'/') else { return Ok(Place::Tree) };
        let top = target.get(..slash).unwrap_or_default();
        if SYSTEM.contains(&top) {
            return Ok(Place::Tree);
        }
        self.part(top, 0o755, READ_ONLY | NO_SUID | NO_DEVICES)?;
        Ok(in_part(self.parts.len() - 1, target, slash))
    }

    /// Mounts an empty part of the yard at `target`. Whatever is made in it is made by way of the yard, so it may be
    /// read-only from the beginning.
    fn part(&mut self, target: &'p [u8], mode: u32, attributes: u64) -> Result<(), IsolateError> {
        let place = self.place(target)?;
        let ground = self.mount_point(target, Kind::Directory, &place)?;
        let own = c_bytes(self.parts.len().to_string().as_bytes())?;
        self.steps.push(Step::Directory(own.clone(), mode, Ground::Own));
        self.steps.push(Step::Own(own, c_bytes(target)?, attributes, ground));
        self.parts.push(target);
        Ok(())
    }

    /// Makes an empty file or directory, if there is none, and says whose ground leads there.
    fn mount_point(&mut self, target: &'p [u8], kind: Kind, place: &Place) -> Result<Ground, IsolateError> {
        match place {
            Place::Tree => {
                self.parents_in_tree(target);
                match kind {
                    Kind::Directory => self.piece_directory(target),
                    Kind::File => self.pieces.push(Piece::MountPoint(target)),
                }
                Ok(Ground::Own)
            }
            Place::Yard(path, made) => {
                self.parents_in_yard(path, *made)?;
                match kind {
                    Kind::Directory => self.yard_directory(path)?,
                    Kind::File => self.steps.push(Step::MountPoint(c_bytes(path)?, Ground::Own)),
                }
                Ok(Ground::Own)
            }
            Place::Shown(from) => {
                for directory in above(target, *from) {
                    self.steps.push(Step::Directory(c_bytes(directory)?, 0o755, Ground::Shown));
                }
                let path = c_bytes(target)?;
                self.steps.push(match kind {
                    Kind::Directory => Step::Directory(path, 0o755, Ground::Shown),
                    Kind::File => Step::MountPoint(path, Ground::Shown),
                });
                Ok(Ground::Shown)
            }
        }
    }

    fn parents_in_tree(&mut self, target: &'p [u8]) {
        let parent = target.iter().rposition(|byte| *byte == b'/').and_then(|slash| target.get(..slash));
        // Rules come sorted: most lie beside the one before.
        if parent != self.parent {
            above(target, 0).for_each(|directory| self.piece_directory(directory));
            self.parent = parent;
        }
    }

    fn piece_directory(&mut self, path: &'p [u8]) {
        if !self.in_tree.contains(&path) {
            self.in_tree.push(path);
            self.pieces.push(Piece::Directory(path));
        }
    }

    fn parents_in_yard(&mut self, path: &[u8], made: usize) -> Result<(), IsolateError> {
        above(path, made).try_for_each(|directory| self.yard_directory(directory))
    }

    fn yard_directory(&mut self, path: &[u8]) -> Result<(), IsolateError> {
        if !self.in_yard.iter().any(|known| known == path) {
            self.in_yard.push(path.to_vec());
            self.steps.push(Step::Directory(c_bytes(path)?, 0o755, Ground::Own));
        }
        Ok(())
    }
}

/// Which version of a small public file there is to copy.
fn version(source: &Path) -> Option<Version> {
    statat(CWD, source, AtFlags::SYMLINK_NOFOLLOW).ok().as_ref().and_then(Version::of)
}

/// A place in a part of the yard, for a target of which the first `length` bytes name where the part is mounted.
fn in_part(number: usize, target: &[u8], length: usize) -> Place {
    let mut path = number.to_string().into_bytes();
    let made = path.len();
    path.extend_from_slice(target.get(length..).unwrap_or_default());
    Place::Yard(path, made)
}

impl<'p> Piece<'p> {
    /// Where it lies.
    pub(super) fn path(&self) -> &'p [u8] {
        match self {
            Self::Directory(path) | Self::MountPoint(path) | Self::Link(_, path) | Self::Copy(_, path) => {
                path
            }
        }
    }
}
