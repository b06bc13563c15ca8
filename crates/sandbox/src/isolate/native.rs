//! The native backend: a plan as steps of a new process, with no other program's help.
//!
//! Invariant: the steps build exactly what the plan says; whatever the kernel refuses stops the child.

use crate::isolate::error::IsolateError;
use crate::isolate::host::Kind;
use crate::isolate::plan::Plan;
use crate::isolate::view::{Rule, Why};
use picoclaw_policy::config::{ExposeMode, Network};
use picoclaw_sys::linux::mount::{Ground, Identity, NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use picoclaw_sys::linux::{Bind, Step};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Devices that hold nothing of the host.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

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

/// What the cage's first process does before the command starts.
pub(super) fn setup(plan: &Plan) -> Result<Vec<Step>, IsolateError> {
    let foreign = |rule: &&Rule| matches!(rule, Rule::Show { .. } | Rule::Link { .. });
    let shown = plan.view.iter().filter(foreign).map(Rule::target).collect();
    let steps = vec![own_ids()?, Step::NewRoot(root_options(plan))];
    let mut tree = Tree { steps, made: BTreeSet::new(), shown };
    for directory in ["/proc", "/run", "/dev/pts"] {
        tree.directory(Path::new(directory), 0o755)?;
    }
    tree.devices()?;
    for rule in &plan.view {
        tree.rule(rule)?;
    }
    tree.steps.push(Step::Proc(most_processes(plan)));
    tree.steps.push(Step::Terminals);
    tree.seal(plan)?;
    tree.steps.push(Step::Pivot);
    if plan.network == Network::None {
        tree.steps.push(Step::Loopback);
    }
    Ok(tree.steps)
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
    CString::new(path.as_os_str().as_bytes()).map_err(|_| IsolateError::Nul { path: path.to_owned() })
}

/// `path` as it is written beneath the root to be.
fn relative(path: &Path) -> Result<CString, IsolateError> {
    c_string(path.strip_prefix("/").unwrap_or(path))
}

/// The same user inside as outside, and nobody else.
fn own_ids() -> Result<Step, IsolateError> {
    let line = |id: u32| {
        CString::new(format!("{id} {id} 1\n")).map_err(|_| IsolateError::Nul { path: PathBuf::new() })
    };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Ok(Step::MapIds(line(user)?, line(group)?))
}

fn root_options(plan: &Plan) -> Vec<(CString, CString)> {
    let size = CString::new(plan.scratch_bytes().to_string()).unwrap_or_default();
    vec![(c"mode".into(), c"0755".into()), (c"size".into(), size), (c"nr_inodes".into(), c"262144".into())]
}

/// The kernel takes no fewer than 301 numbers; two are the cage's own.
fn most_processes(plan: &Plan) -> Option<CString> {
    let most = plan.limits.processes;
    if most == 0 { None } else { CString::new(most.saturating_add(2).clamp(301, 4_194_304).to_string()).ok() }
}

/// A small public file as a copy: that costs a tenth of a mount, and the root it lies on is read-only too.
fn small_text(source: &Path) -> Option<Vec<u8>> {
    const SMALL: u64 = 64 << 10;
    let file =
        rustix::fs::openat(CWD, source, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
            .ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let everybodys =
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_mode & 0o004 != 0;
    let length =
        u64::try_from(stat.st_size).ok().filter(|length| everybodys && (1..=SMALL).contains(length))?;
    let mut content = vec![0; usize::try_from(length).ok()?];
    let read = rustix::io::read(&file, &mut content).ok()?;
    (read == content.len()).then_some(content)
}

struct Tree<'p> {
    steps: Vec<Step>,
    made: BTreeSet<PathBuf>,
    /// What the host shows or the tree links: beneath these lies somebody else's ground.
    shown: Vec<&'p Path>,
}

impl Tree<'_> {
    /// Whose directories lie on the way to `target`.
    fn ground(&self, target: &Path) -> Ground {
        let beneath = |shown: &&Path| {
            let rest = target.as_os_str().as_bytes().strip_prefix(shown.as_os_str().as_bytes());
            rest.is_some_and(|rest| rest.first() == Some(&b'/'))
        };
        if self.shown.iter().any(beneath) { Ground::Shown } else { Ground::Own }
    }

    fn rule(&mut self, rule: &Rule) -> Result<(), IsolateError> {
        let target = rule.target();
        match rule {
            Rule::Show { source, mode, kind, why, .. } => {
                if *why == Why::Etc
                    && *kind == Kind::File
                    && self.ground(target) == Ground::Own
                    && let Some(content) = small_text(source)
                {
                    self.parents(target)?;
                    self.steps.push(Step::Content(relative(target)?, content));
                    return Ok(());
                }
                self.place(target, *kind)?;
                let read_only = if *mode == ExposeMode::ReadOnly { READ_ONLY } else { 0 };
                self.steps.push(Step::Bind(Bind {
                    source: c_string(source)?,
                    target: relative(target)?,
                    ground: self.ground(target),
                    attributes: NO_SUID | NO_DEVICES | read_only,
                    identity: Some(identity(source)?),
                }));
            }
            Rule::Link { to, .. } => {
                self.parents(target)?;
                self.steps.push(Step::Link(c_string(to)?, relative(target)?));
            }
            Rule::Scratch { .. } => {
                self.directory(target, 0o1777)?;
                let (own, ground) = (relative(target)?, self.ground(target));
                self.steps.push(Step::Own(own.clone(), own, NO_SUID | NO_DEVICES, ground));
            }
            Rule::Hide { kind: Kind::Directory, .. } => {
                let empty = PathBuf::from(format!("/run/hidden-{}", self.steps.len()));
                self.directory(&empty, 0o755)?;
                self.place(target, Kind::Directory)?;
                self.steps.push(Step::Own(
                    relative(&empty)?,
                    relative(target)?,
                    NO_SUID | NO_DEVICES | NO_EXEC,
                    self.ground(target),
                ));
            }
            Rule::Hide { kind: Kind::File, .. } => {
                self.place(target, Kind::File)?;
                self.steps.push(Step::Bind(Bind {
                    source: c"/dev/null".into(),
                    target: relative(target)?,
                    ground: self.ground(target),
                    attributes: NO_SUID | NO_DEVICES | NO_EXEC | READ_ONLY,
                    identity: None,
                }));
            }
        }
        Ok(())
    }

    /// Everything that is ours becomes read-only, once all mount points are made.
    fn seal(&mut self, plan: &Plan) -> Result<(), IsolateError> {
        for rule in &plan.view {
            if let Rule::Hide { target, kind: Kind::Directory } = rule {
                self.steps.push(Step::Seal(relative(target)?, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC));
            }
        }
        self.steps.push(Step::Seal(CString::default(), READ_ONLY | NO_SUID | NO_DEVICES));
        Ok(())
    }

    fn devices(&mut self) -> Result<(), IsolateError> {
        for name in DEVICES {
            let device = Path::new("/dev").join(name);
            if rustix::fs::statat(CWD, &device, AtFlags::empty()).is_err() {
                continue;
            }
            self.place(&device, Kind::File)?;
            let (source, target) = (c_string(&device)?, relative(&device)?);
            self.steps.push(Step::Bind(Bind {
                source,
                target,
                ground: self.ground(&device),
                attributes: NO_SUID | NO_EXEC,
                identity: None,
            }));
        }
        for (to, at) in [
            (c"/proc/self/fd", c"dev/fd"),
            (c"/proc/self/fd/0", c"dev/stdin"),
            (c"/proc/self/fd/1", c"dev/stdout"),
            (c"/proc/self/fd/2", c"dev/stderr"),
            (c"pts/ptmx", c"dev/ptmx"),
        ] {
            self.steps.push(Step::Link(to.into(), at.into()));
        }
        Ok(())
    }

    /// A mount point: an empty file or directory, if there is none.
    fn place(&mut self, target: &Path, kind: Kind) -> Result<(), IsolateError> {
        if kind == Kind::Directory {
            return self.directory(target, 0o755);
        }
        self.parents(target)?;
        self.steps.push(Step::MountPoint(relative(target)?, self.ground(target)));
        Ok(())
    }

    fn parents(&mut self, target: &Path) -> Result<(), IsolateError> {
        match target.parent() {
            Some(parent) if parent != Path::new("/") => self.directory(parent, 0o755),
            _ => Ok(()),
        }
    }

    fn directory(&mut self, path: &Path, mode: u32) -> Result<(), IsolateError> {
        if self.made.contains(path) {
            return Ok(());
        }
        self.parents(path)?;
        self.steps.push(Step::Directory(relative(path)?, mode, self.ground(path)));
        self.made.insert(path.to_owned());
        Ok(())
    }
}
