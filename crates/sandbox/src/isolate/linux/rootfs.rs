//! Turns the mount rules of a plan into the steps that build a child's root file system.
//!
//! What the cage owns lies in one fresh tmpfs: a directory that is mounted read-only as the root,
//! and one for each private or hidden directory of the plan. Paths of the host are bind mounts on
//! top.
//!
//! Invariant: parents come first, and no step follows a symbolic link of the host.

use crate::isolate::error::IsolateError;
use crate::isolate::host_files::HostEntryKind;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::ExposeMode;
use picoclaw_sys::linux::mount::{
    DevIno, NO_DEVICES, NO_EXEC, NO_SUID, PathOwner, READ_ONLY, open_path_without_links,
};
use picoclaw_sys::linux::{BindMount, OverlayMount, Step};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Devices that are shared with the host.
pub(super) const DEVICES: [&CStr; 6] =
    [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"];

/// Links in `/dev`, as every Linux system has them.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
    ("pts/ptmx", "dev/ptmx"),
];

/// The directory of the tmpfs that becomes the root; the others are numbered.
const ROOT: &str = "root";

/// The largest file of `/etc` that is copied instead of mounted.
const MAX_COPY_BYTES: usize = 64 << 10;

/// The steps that build the root file system of `plan`.
pub(super) fn rootfs_steps(plan: &Plan) -> Result<Vec<Step>, IsolateError> {
    let root = c_string(Path::new(ROOT))?;
    let mut builder = RootfsBuilder {
        steps: vec![
            Step::Tmpfs(tmpfs_options(plan)),
            Step::Directory(root.clone(), 0o755, PathOwner::Cage),
            Step::NewRoot(root),
        ],
        own: vec![(Path::new("/"), ROOT.to_owned())],
        shown: Vec::new(),
        made: HashSet::new(),
    };
    for directory in ["proc", "run", "dev/pts", "dev/mqueue"] {
        builder.make_directories(&Path::new(ROOT).join(directory))?;
    }
    builder.devices()?;
    for rule in &plan.mounts {
        builder.rule(rule)?;
    }
    Ok(builder.steps)
}

struct RootfsBuilder<'p> {
    steps: Vec<Step>,
    /// The directories of the tmpfs, by where they are mounted.
    own: Vec<(&'p Path, String)>,
    /// Bind mounts and links: what lies beneath them is the host's.
    shown: Vec<&'p Path>,
    /// Directories made in the tmpfs so far.
    made: HashSet<PathBuf>,
}

/// Where the mount point of a target is.
enum Target<'p> {
    /// At this path of the tmpfs.
    Own(PathBuf),
    /// Beneath this bind mount or link.
    Shown(&'p Path),
}

impl<'p> RootfsBuilder<'p> {
    fn rule(&mut self, rule: &'p MountRule) -> Result<(), IsolateError> {
        let target = rule.target();
        match rule {
            MountRule::Bind { source, mode, kind, reason, .. } => {
                if *reason == MountReason::Etc && *kind == HostEntryKind::File && self.copy(source, target)? {
                    return Ok(());
                }
                if *reason == MountReason::Protected {
                    return self.bind_existing(source, target, *mode);
                }
                let read_only = if *mode == ExposeMode::ReadOnly { READ_ONLY } else { 0 };
                self.bind(source, target, *kind, NO_SUID | NO_DEVICES | read_only)?;
                self.shown.push(target);
            }
            MountRule::Symlink { to, .. } => {
                // A directory of the host has its own links.
                if let Target::Own(path) = self.locate(target) {
                    self.make_parents(&path)?;
                    self.steps.push(Step::Symlink(c_string(to)?, c_string(&path)?));
                }
                self.shown.push(target);
            }
            MountRule::Tmpfs { mode, .. } => self.mount_own(target, *mode, NO_SUID | NO_DEVICES)?,
            MountRule::Overlay { lower, .. } => self.overlay(lower, target)?,
            MountRule::Hide { kind: HostEntryKind::Directory, .. } => {
                self.mount_own(target, 0o755, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)?;
            }
            // Nothing is made to mount on: a socket that is gone must not leave a file behind.
            MountRule::MaskSocket { .. } => self.mask(target, PathOwner::Host)?,
            MountRule::Hide { kind: HostEntryKind::File, .. } => {
                let owner = self.mount_point(target, HostEntryKind::File)?;
                self.mask(target, owner)?;
            }
        }
        Ok(())
    }

    /// Mounts the null device, which cannot be opened there, over a file or a socket.
    fn mask(&mut self, target: &Path, owner: PathOwner) -> Result<(), IsolateError> {
        self.steps.push(Step::Bind(BindMount {
            source: c"/dev/null".into(),
            target: beneath_root(target)?,
            owner,
            attributes: NO_SUID | NO_DEVICES | NO_EXEC | READ_ONLY,
            expected: None,
        }));
        Ok(())
    }

    fn devices(&mut self) -> Result<(), IsolateError> {
        for device in DEVICES {
            if statat(CWD, device, AtFlags::empty()).is_err() {
                continue;
            }
            let target = Path::new(OsStr::from_bytes(device.to_bytes()));
            let owner = self.mount_point(target, HostEntryKind::File)?;
            self.steps.push(Step::Bind(BindMount {
                source: device.into(),
                target: beneath_root(target)?,
                owner,
                // A device on a read-only mount can still be written, but its mode cannot be
                // changed.
                attributes: NO_SUID | NO_EXEC | READ_ONLY,
                expected: None,
            }));
        }
        for (to, at) in DEVICE_LINKS {
            let path = Path::new(ROOT).join(at);
            self.steps.push(Step::Symlink(c_string(Path::new(to))?, c_string(&path)?));
        }
        Ok(())
    }

    fn bind(
        &mut self,
        source: &Path,
        target: &Path,
        kind: HostEntryKind,
        attributes: u64,
    ) -> Result<(), IsolateError> {
        let owner = self.mount_point(target, kind)?;
        let (source, expected) = (c_string(source)?, Some(dev_ino(source)?));
        let target = beneath_root(target)?;
        self.steps.push(Step::Bind(BindMount { source, target, owner, attributes, expected }));
        Ok(())
    }

    /// Mounts a path of the workspace over itself. It exists; nothing may be made for it on the
    /// host.
    fn bind_existing(
        &mut self,
        source: &Path,
        target: &'p Path,
        mode: ExposeMode,
    ) -> Result<(), IsolateError> {
        let read_only = if mode == ExposeMode::ReadOnly { READ_ONLY } else { 0 };
        let (source, expected) = (c_string(source)?, Some(dev_ino(source)?));
        let (owner, attributes) = (PathOwner::Host, NO_SUID | NO_DEVICES | read_only);
        let at = beneath_root(target)?;
        self.steps.push(Step::Bind(BindMount { source, target: at, owner, attributes, expected }));
        self.shown.push(target);
        Ok(())
    }

    /// Copies a small public file, which costs a tenth of a mount; whether it did.
    fn copy(&mut self, source: &Path, target: &Path) -> Result<bool, IsolateError> {
        let Target::Own(path) = self.locate(target) else { return Ok(false) };
        let Some(content) = small_public_file(source) else { return Ok(false) };
        self.make_parents(&path)?;
        self.steps.push(Step::File(c_string(&path)?, content));
        Ok(true)
    }

    /// Mounts a new directory of the tmpfs at `target`. Its entries are made through the tmpfs, so
    /// the mount may be read-only from the beginning.
    fn mount_own(&mut self, target: &'p Path, mode: u32, attributes: u64) -> Result<(), IsolateError> {
        let owner = self.mount_point(target, HostEntryKind::Directory)?;
        let name = self.own.len().to_string();
        let source = c_string(Path::new(&name))?;
        self.steps.push(Step::Directory(source.clone(), mode, PathOwner::Cage));
        self.steps.push(Step::BindTmpfs(source, beneath_root(target)?, attributes, owner));
        self.own.push((target, name));
        Ok(())
    }

    /// Mounts a directory of the host beneath a directory of the tmpfs, which takes the changes.
    fn overlay(&mut self, lower: &Path, target: &'p Path) -> Result<(), IsolateError> {
        let owner = self.mount_point(target, HostEntryKind::Directory)?;
        let own = PathBuf::from(format!("overlay-{}", self.shown.len()));
        let [upper, work] = ["upper", "work"].map(|name| own.join(name));
        for directory in [&own, &upper, &work] {
            self.steps.push(Step::Directory(c_string(directory)?, 0o700, PathOwner::Cage));
        }
        self.steps.push(Step::Overlay(OverlayMount {
            lower: c_string(lower)?,
            expected: dev_ino(lower)?,
            upper: c_string(&upper)?,
            work: c_string(&work)?,
            target: beneath_root(target)?,
            owner,
        }));
        self.shown.push(target);
        Ok(())
    }

    /// Makes an empty file or directory to mount on, and returns whose directories lead there.
    fn mount_point(&mut self, target: &Path, kind: HostEntryKind) -> Result<PathOwner, IsolateError> {
        match self.locate(target) {
            Target::Own(path) if kind == HostEntryKind::Directory => {
                self.make_directories(&path)?;
                Ok(PathOwner::Cage)
            }
            Target::Own(path) => {
                self.make_parents(&path)?;
                self.steps.push(Step::MountPoint(c_string(&path)?, PathOwner::Cage));
                Ok(PathOwner::Cage)
            }
            Target::Shown(above) => {
                let between = target.ancestors().skip(1).take_while(|path| *path != above);
                for directory in between.collect::<Vec<_>>().into_iter().rev() {
                    self.steps.push(Step::Directory(beneath_root(directory)?, 0o755, PathOwner::Host));
                }
                let path = beneath_root(target)?;
                self.steps.push(match kind {
                    HostEntryKind::Directory => Step::Directory(path, 0o755, PathOwner::Host),
                    HostEntryKind::File => Step::MountPoint(path, PathOwner::Host),
                });
                Ok(PathOwner::Host)
            }
        }
    }

    /// Where `target` lies: in the innermost of the mounts so far.
    fn locate(&self, target: &Path) -> Target<'p> {
        let length = |path: &Path| path.as_os_str().len();
        let own = self.own.iter().filter(|(above, _)| target.starts_with(above));
        let own = own.max_by_key(|(above, _)| length(above));
        let shown = self.shown.iter().filter(|above| target.starts_with(above));
        let shown = shown.max_by_key(|above| length(above));
        match (own, shown) {
            (Some((inner, _)), Some(above)) if length(above) > length(inner) => Target::Shown(above),
            (Some((above, name)), _) => {
                Target::Own(Path::new(name).join(target.strip_prefix(above).unwrap_or(target)))
            }
            (None, _) => Target::Own(Path::new(ROOT).join(target)),
        }
    }

    /// Makes what is missing of the directories above a path of the tmpfs.
    fn make_parents(&mut self, path: &Path) -> Result<(), IsolateError> {
        path.parent().map_or(Ok(()), |parent| self.make_directories(parent))
    }

    /// Makes what is missing of a path of the tmpfs, whose first component is there already. The
    /// directories hold what is mounted and nothing else: what a command put beside a project in
    /// `/tmp` would be gone after it.
    fn make_directories(&mut self, path: &Path) -> Result<(), IsolateError> {
        let mut at = PathBuf::new();
        for (depth, name) in path.components().enumerate() {
            at.push(name);
            if depth > 0 && self.made.insert(at.clone()) {
                self.steps.push(Step::Directory(c_string(&at)?, 0o555, PathOwner::Cage));
            }
        }
        Ok(())
    }
}

/// The place of the child's terminal, which its launch fills in.
pub(super) fn console() -> Result<Step, IsolateError> {
    Ok(Step::Console(c_string(&Path::new(ROOT).join("dev/console"))?, None))
}

/// The size and mode of the tmpfs.
fn tmpfs_options(plan: &Plan) -> Vec<(CString, CString)> {
    let size = CString::new(plan.tmpfs_bytes().to_string()).unwrap_or_default();
    vec![(c"mode".into(), c"0755".into()), (c"size".into(), size), (c"nr_inodes".into(), c"262144".into())]
}

/// The content of a small regular file that everyone may read; `None` for anything else.
fn small_public_file(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_mode & 0o004 == 0 {
        return None;
    }
    let mut content = Vec::new();
    File::from(file).take(MAX_COPY_BYTES as u64 + 1).read_to_end(&mut content).ok()?;
    (1..=MAX_COPY_BYTES).contains(&content.len()).then_some(content)
}

/// The device and inode of a source, which the child compares when it mounts it. Links were
/// resolved when the plan was made, so a link that is found now was put there since.
fn dev_ino(path: &Path) -> Result<DevIno, IsolateError> {
    let stat = fstat(&open_source(path)?).map_err(source_error(path))?;
    Ok(DevIno { device: stat.st_dev, inode: stat.st_ino })
}

/// Opens what a rule shows, to bind it and nothing else. Its path has no links.
pub(super) fn open_source(path: &Path) -> Result<OwnedFd, IsolateError> {
    open_path_without_links(&c_string(path)?).map_err(source_error(path))
}

fn source_error(path: &Path) -> impl Fn(Errno) -> IsolateError {
    move |errno| IsolateError::Source { path: path.to_owned(), source: errno.into() }
}

/// A target relative to the new root.
pub(super) fn beneath_root(target: &Path) -> Result<CString, IsolateError> {
    c_string(target.strip_prefix("/").unwrap_or(target))
}

/// A path for a system call.
pub(super) fn c_string(path: &Path) -> Result<CString, IsolateError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| IsolateError::Nul { path: path.to_owned() })
}
