//! Masks the path-name UNIX sockets of host processes in the trees that a cage shows.
//!
//! No mount, read-only or not, stops connect(2), and neither does a network namespace. So an inert
//! file is mounted over each socket, and an empty directory over one that could not be searched.
//! Sockets that are bound later, or in another network namespace, are not found.

use crate::isolate::error::IsolateError;
use crate::isolate::host_files::HostEntryKind;
use crate::isolate::linux::kernel_error;
use crate::isolate::linux::sock_diag::{BoundSocket, bound_sockets};
use crate::isolate::mount_rules::{MountReason, MountRule, ordered};
use crate::os_file::mount_table::{MountTable, Place};
use picoclaw_policy::config::ExposeMode;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest path of a directory that is searched. Deeper ones are hidden. Their path in the
/// cage, which may be longer, must stay within PATH_MAX.
const MAX_SEARCHED_PATH: usize = 2048;

/// The most entries of one tree that are searched for sockets whose path is not known.
const MAX_ENTRIES: usize = 250_000;

/// The sockets that were bound when this was made.
#[derive(Debug, Clone)]
pub(super) struct HostSockets(HashSet<BoundSocket>);

impl HostSockets {
    /// The sockets that are bound now.
    pub(super) fn read() -> Result<Self, IsolateError> {
        bound_sockets().map(Self).map_err(kernel_error("list the UNIX sockets of this host"))
    }

    /// The rules that mask these sockets in `mounts`, wherever they lie now. Those that are not
    /// among `bound`, the sockets that are bound now, are masked by their name alone: their inode
    /// may be another socket's.
    ///
    /// A socket that the operator exposes by its own path stays, if it is exposed read-write.
    pub(super) fn masks(&self, bound: &Self, mounts: &[MountRule]) -> Result<Vec<MountRule>, IsolateError> {
        let table = if self.0.is_empty() { None } else { Some(MountTable::read()) };
        let mut masks = Vec::new();
        for rule in mounts {
            let MountRule::Bind { source, target, mode, kind, reason } = rule else { continue };
            if *kind == HostEntryKind::File {
                if *mode == ExposeMode::ReadOnly && is_socket(source) {
                    masks.push(MountRule::MaskSocket { target: target.clone() });
                }
                continue;
            }
            let Some(table) = &table else { continue };
            // Not to be searched: what the kernel says of a process has directories that cannot be
            // listed.
            let hidden = mounts.iter().filter(|rule| matches!(rule, MountRule::Hide { .. }));
            let hidden =
                hidden.filter_map(|rule| Some(source.join(rule.target().strip_prefix(target).ok()?)));
            let found = self.beneath(source, (*reason, &hidden.collect()), table, bound)?;
            let seen = |path: &PathBuf| {
                let seen = target.join(path.strip_prefix(source).unwrap_or(path));
                // Another rule may show something else there, or this very socket.
                (innermost(mounts, &seen) == Some(rule)).then_some(seen)
            };
            let sockets = found.sockets.iter().filter(|path| is_socket(path)).filter_map(seen);
            masks.extend(sockets.map(|target| MountRule::MaskSocket { target }));
            let kind = HostEntryKind::Directory;
            let closed = found.closed.iter().filter_map(seen);
            masks.extend(closed.map(|target| MountRule::Hide { target, kind }));
        }
        Ok(ordered(masks))
    }

    /// Where these sockets are beneath `tree`, except in what is hidden of it.
    fn beneath(
        &self,
        tree: &Path,
        (reason, hidden): (MountReason, &HashSet<PathBuf>),
        table: &MountTable,
        bound: &Self,
    ) -> Result<Found, IsolateError> {
        let places = table.places(tree);
        let is_near = |socket: &&BoundSocket| {
            let device = socket.id.map(|(device, _)| device);
            places.iter().any(|place| device.is_none() || place.device.is_none() || place.device == device)
        };
        let mut found = Found::default();
        let mut lost = HashSet::new();
        for socket in self.0.iter().filter(is_near) {
            let (paths, is_complete) = paths_by_name(socket, bound.0.contains(socket));
            let inside = |path: &PathBuf| in_places(&places, &table.place(path));
            found.sockets.extend(paths.iter().filter_map(inside));
            if !is_complete {
                lost.extend(socket.id.map(|(_, inode)| inode));
            }
        }
        // Elsewhere there are programs and libraries, where a socket is found by its name or not at
        // all.
        let is_searched =
            matches!(reason, MountReason::Workspace | MountReason::UserEnvironment | MountReason::Configured);
        if is_searched && !lost.is_empty() {
            search(tree, hidden, &lost, &mut found)?;
        }
        Ok(found)
    }
}

/// What was found in a tree.
#[derive(Default)]
struct Found {
    sockets: Vec<PathBuf>,
    /// Directories that could not be searched, but that the child could open again.
    closed: Vec<PathBuf>,
}

fn in_places(places: &[Place], socket: &Place) -> Option<PathBuf> {
    places.iter().find_map(|place| place.path_of(socket))
}

/// The rule that decides what is at `path` in the cage.
pub(super) fn innermost<'m>(mounts: &'m [MountRule], path: &Path) -> Option<&'m MountRule> {
    let above = mounts.iter().filter(|rule| path.starts_with(rule.target()));
    above.max_by_key(|rule| rule.target().as_os_str().len())
}

/// Where a socket is, looked for by the name it was bound by and in that directory, and whether it
/// has no other path. One that is not bound any more has none but its name.
fn paths_by_name(socket: &BoundSocket, is_bound: bool) -> (Vec<PathBuf>, bool) {
    let (Some(parent), Some(name)) = (socket.name.parent(), socket.name.file_name()) else {
        return (Vec::new(), !is_bound);
    };
    let Some(parent) = parent.canonicalize().ok().filter(|_| socket.name.is_absolute()) else {
        return (Vec::new(), !is_bound);
    };
    let path = parent.join(name);
    let mut paths = Vec::new();
    if let Some(stat) = socket_stat(&path) {
        paths.push(path);
        // A name that is now another socket's belongs to a restarted server.
        if is_bound && is_of(socket, &stat) {
            return (paths, stat.st_nlink == 1);
        }
    }
    if !is_bound {
        return (paths, true);
    }
    let inodes: HashSet<u32> = socket.id.map(|(_, inode)| inode).into_iter().collect();
    let renamed = entries(&parent).unwrap_or_default().into_iter();
    let mut renamed = renamed.filter_map(|(path, _)| is_among(&path, &inodes).map(|stat| (path, stat)));
    let Some((path, stat)) = renamed.next() else { return (paths, false) };
    paths.push(path);
    (paths, stat.st_nlink == 1)
}

/// The sockets with these inodes in a tree, breadth first. The device is not compared: `stat` and
/// sock_diag(7) do not agree about it on every file system, and a socket too many is masked.
fn search(
    tree: &Path,
    hidden: &HashSet<PathBuf>,
    inodes: &HashSet<u32>,
    found: &mut Found,
) -> Result<(), IsolateError> {
    let mut count = 0;
    let mut directories = VecDeque::from([tree.to_owned()]);
    while let Some(directory) = directories.pop_front() {
        // Near PATH_MAX it cannot be searched, and the child gets there step by step.
        if directory.as_os_str().len() > MAX_SEARCHED_PATH {
            found.closed.push(directory);
            continue;
        }
        let entries = match entries(&directory) {
            Ok(entries) => entries,
            // Gone since, or out of reach for the child as well.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(Errno::ACCESS) => {
                if is_own(&directory) {
                    found.closed.push(directory);
                }
                continue;
            }
            Err(errno) => return Err(IsolateError::Unsearched { path: directory, source: errno.into() }),
        };
        for (path, kind) in entries {
            count += 1;
            match kind {
                FileType::Directory if !hidden.contains(&path) => directories.push_back(path),
                FileType::Socket if is_among(&path, inodes).is_some() => found.sockets.push(path),
                _ => {}
            }
        }
        if count > MAX_ENTRIES {
            tracing::warn!(
                target: "isolation",
                tree = %tree.display(),
                "More than {MAX_ENTRIES} entries: not all of them were searched for sockets of the host"
            );
            break;
        }
    }
    Ok(())
}

/// The entries of a directory, with their types.
fn entries(directory: &Path) -> Result<Vec<(PathBuf, FileType)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut entries = Vec::new();
    for entry in Dir::new(openat(CWD, directory, flags, Mode::empty())?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let path = directory.join(OsStr::from_bytes(name));
        let kind = match entry.file_type() {
            // Some file systems do not tell.
            FileType::Unknown => statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        entries.push((path, kind));
    }
    Ok(entries)
}

pub(super) fn is_own(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

fn is_socket(path: &Path) -> bool {
    socket_stat(path).is_some()
}

fn socket_stat(path: &Path) -> Option<Stat> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Socket).then_some(stat)
}

fn is_among(path: &Path, inodes: &HashSet<u32>) -> Option<Stat> {
    socket_stat(path).filter(|stat| inodes.contains(&(stat.st_ino as u32)))
}

fn is_of(socket: &BoundSocket, stat: &Stat) -> bool {
    socket.id.is_none_or(|(_, inode)| inode == stat.st_ino as u32)
}
