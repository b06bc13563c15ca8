//! The native backend: a plan as steps of a new process, with no other program's help.
//!
//! Invariant: the steps build exactly what the plan says; whatever the kernel refuses stops the child.

use crate::isolate::error::IsolateError;
use crate::isolate::frame::Frame;
use crate::isolate::layout::{Layout, Piece, Version};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::Network;
use picoclaw_sys::linux::mount::{Ground, Identity};
use picoclaw_sys::linux::{Base, Step};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Devices that hold nothing of the host.
pub(super) const DEVICES: [&CStr; 6] =
    [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"];

/// The namespaces of a cage.
pub(super) fn namespaces(network: Network) -> u32 {
    let always = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    match network {
        Network::Host => always as u32,
        Network::None => (always | libc::CLONE_NEWNET) as u32,
    }
}

/// What the cage's first process does before the command starts: on a frame that is there, or on one made for it alone.
pub(super) fn setup(
    plan: &Plan,
    layout: Layout<'_>,
    frame: Option<&Frame>,
) -> Result<Vec<Step>, IsolateError> {
    let Layout { pieces, mut steps } = layout;
    let mut first = vec![own_ids()?, Step::Yard(yard_options(plan))];
    match frame {
        Some(frame) => {
            first.push(Step::Root(Base::Prepared(c_string(&frame.path)?, frame.identity)));
        }
        None => made_here(&mut first, &pieces)?,
    }
    steps.splice(..0, first);
    steps.push(Step::Proc(most_processes(plan)));
    steps.push(Step::Terminals);
    steps.push(Step::Pivot);
    if plan.network == Network::None {
        steps.push(Step::Loopback);
    }
    Ok(steps)
}

/// The pieces in a directory of the yard, and a read-only view of it as the root.
fn made_here(steps: &mut Vec<Step>, pieces: &[Piece<'_>]) -> Result<(), IsolateError> {
    let in_c = |path: Vec<u8>| CString::new(path).map_err(|_| nul(Path::new("/")));
    let within = |path: &[u8]| in_c([ROOT.to_bytes(), b"/", path].concat());
    steps.push(Step::Directory(ROOT.into(), 0o755, Ground::Own));
    for piece in pieces {
        let at = within(piece.path())?;
        steps.push(match piece {
            Piece::Directory(_) => Step::Directory(at, 0o755, Ground::Own),
            Piece::MountPoint(_) => Step::MountPoint(at, Ground::Own),
            Piece::Link(to, _) => Step::Link(in_c(to.to_vec())?, at),
            Piece::Copy(copied, _) => Step::Content(at, content(copied.source)?.1),
        });
    }
    steps.push(Step::Root(Base::Made(ROOT.into())));
    Ok(())
}

/// The root among the yard's parts, whose names are numbers.
const ROOT: &CStr = c"root";

/// What a small public file holds now, and which version of it that is.
pub(super) fn content(path: &Path) -> Result<(Version, Vec<u8>), IsolateError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let failed =
        |errno: rustix::io::Errno| IsolateError::Source { path: path.to_owned(), source: errno.into() };
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    let version = Version::of(&stat).ok_or_else(|| failed(rustix::io::Errno::STALE))?;
    let mut content = vec![0; usize::try_from(version.size).unwrap_or_default()];
    let length = rustix::io::read(&file, &mut content).map_err(failed)?;
    content.truncate(length);
    Ok((version, content))
}

/// Identifies a source, so that the child mounts what was judged and nothing put in its place. Its links were resolved when
/// it was judged: one that is there now was put there since.
pub(super) fn identity(path: &Path) -> Result<Identity, IsolateError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let stat = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .and_then(|source| rustix::fs::fstat(&source))
        .map_err(|errno| IsolateError::Source { path: path.to_owned(), source: errno.into() })?;
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino })
}

pub(super) fn c_string(path: &Path) -> Result<CString, IsolateError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| nul(path))
}

pub(super) fn nul(path: &Path) -> IsolateError {
    IsolateError::Nul { path: path.to_owned() }
}

/// The same user inside as outside, and nobody else.
fn own_ids() -> Result<Step, IsolateError> {
    let line = |id: u32| CString::new(format!("{id} {id} 1\n")).map_err(|_| nul(Path::new("")));
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Ok(Step::MapIds(line(user)?, line(group)?))
}

fn yard_options(plan: &Plan) -> Vec<(CString, CString)> {
    let size = CString::new(plan.scratch_bytes().to_string()).unwrap_or_default();
    vec![(c"mode".into(), c"0755".into()), (c"size".into(), size), (c"nr_inodes".into(), c"262144".into())]
}

/// The kernel takes no fewer than 301 numbers; two are the cage's own.
fn most_processes(plan: &Plan) -> Option<CString> {
    let most = plan.limits.processes;
    if most == 0 { None } else { CString::new(most.saturating_add(2).clamp(301, 4_194_304).to_string()).ok() }
}
