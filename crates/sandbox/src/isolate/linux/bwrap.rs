//! The bubblewrap backend: a plan as arguments of `bwrap`.
//!
//! Invariant: only a `bwrap` that root alone can have installed is used.

use crate::isolate::host_files::HostEntryKind;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::ExposeMode;
use rustix::fs::{AtFlags, CWD, FileType};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How to install bubblewrap, as documented.
pub const INSTALL_HINTS: &str = "apt install bubblewrap; dnf install bubblewrap; yum install bubblewrap; pacman -S bubblewrap; apk add bubblewrap";

/// The descriptor from which bubblewrap reads the seccomp filter.
pub(super) const FILTER_FD: i32 = 9;

/// The descriptor on which the second stage reports that the cage is complete.
pub(super) const STAGE_FD: i32 = 8;

/// The second stage, run inside the finished cage, does what bubblewrap does not: it limits the
/// number of processes (counted in the new user namespace; shells spell it `-u` or `-p`), reports
/// that the cage is complete, and executes the command. A command that cannot be executed ends with
/// 126 or 127, as in any shell.
pub(super) fn second_stage(processes: u64) -> Vec<OsString> {
    let limit = match processes {
        0 => String::new(),
        limit => format!("ulimit -u {limit} 2>/dev/null || ulimit -p {limit} 2>/dev/null; "),
    };
    let line = format!("{limit}echo >&{STAGE_FD}; exec {STAGE_FD}>&-; exec \"$@\"");
    ["/bin/sh", "-c", &line, "sh"].map(OsString::from).into()
}

/// Finds the first bubblewrap along `path` that only root can have installed (W69).
pub fn find_bwrap(path: &OsStr) -> Option<PathBuf> {
    let standard = ["/usr/bin", "/bin", "/usr/local/bin"].map(PathBuf::from);
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute()).chain(standard);
    directories.map(|directory| directory.join("bwrap")).find(|program| {
        let Ok(resolved) = std::fs::canonicalize(program) else { return false };
        is_owned_by_root(&resolved, FileType::RegularFile)
            && resolved.ancestors().skip(1).all(|above| is_owned_by_root(above, FileType::Directory))
    })
}

/// Whether a program changes its user or group when it is executed.
pub(super) fn is_set_id(program: &Path) -> bool {
    rustix::fs::statat(CWD, program, AtFlags::empty()).is_ok_and(|stat| stat.st_mode & 0o6000 != 0)
}

fn is_owned_by_root(path: &Path, kind: FileType) -> bool {
    let Ok(stat) = rustix::fs::statat(CWD, path, AtFlags::empty()) else { return false };
    stat.st_uid == 0 && stat.st_mode & 0o022 == 0 && FileType::from_raw_mode(stat.st_mode) == kind
}

/// The targets that are bound by descriptors, with their numbers.
type OpenSources<'p> = BTreeMap<&'p Path, i32>;

/// The rules whose source lies in a tree that commands may write, as target and source. A command
/// could put a link in the place of such a source, which bubblewrap would follow, so it is bound by
/// a descriptor.
pub(super) fn sources_in_writable_trees(plan: &Plan) -> impl Iterator<Item = (&Path, &Path)> {
    let is_above = |rule: &MountRule, path: &Path| match rule {
        MountRule::Bind { source, mode: ExposeMode::ReadWrite, .. } => {
            path != source && path.starts_with(source)
        }
        _ => false,
    };
    plan.mounts.iter().filter_map(move |rule| match rule {
        MountRule::Bind { source, target, reason, .. }
            if *reason == MountReason::Protected
                || plan.mounts.iter().any(|above| is_above(above, source)) =>
        {
            Some((target.as_path(), source.as_path()))
        }
        _ => None,
    })
}

/// The arguments for this plan on a kernel whose `/proc` has these entries to cover; the command
/// follows them.
pub fn bwrap_arguments(
    plan: &Plan,
    masked: &[(&Path, HostEntryKind)],
    open: &OpenSources<'_>,
) -> Vec<OsString> {
    let mut arguments = Arguments(Vec::new());
    arguments.words(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if !plan.network.is_open() {
        arguments.words(&["--unshare-net"]);
    }
    arguments.words(&[
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--dir",
        "/run",
    ]);
    for (path, kind) in masked {
        arguments.hide(path, *kind);
    }
    for rule in &plan.mounts {
        for directory in private_parents(plan, rule.target()) {
            arguments.words(&["--perms", "0555", "--dir"]).path(directory);
        }
        arguments.rule(rule, plan.tmpfs_bytes(), open);
    }
    for (path, kind) in masked {
        if *kind == HostEntryKind::Directory {
            arguments.words(&["--remount-ro"]).path(path);
        }
    }
    for rule in &plan.mounts {
        if let MountRule::Hide { target, kind: HostEntryKind::Directory } = rule {
            arguments.words(&["--remount-ro"]).path(target);
        }
    }
    // bubblewrap's `/dev` is a tmpfs without a size.
    arguments.words(&["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"]);
    arguments.words(&["--seccomp", &FILTER_FD.to_string(), "--chdir"]).path(&plan.work_dir);
    arguments.words(&["--"]);
    arguments.0
}

/// The directories between a private directory and what is mounted at `target` in it. bubblewrap
/// would make them writable, and what a command put there would be gone after it.
fn private_parents<'p>(plan: &Plan, target: &'p Path) -> Vec<&'p Path> {
    let is_beneath = |rule: &MountRule, path: &Path| path.starts_with(rule.target());
    let is_private = |path: &Path| {
        let above = plan.mounts.iter().filter(|rule| is_beneath(rule, path));
        let inner = above.max_by_key(|rule| rule.target().as_os_str().len());
        inner.is_some_and(|rule| matches!(rule, MountRule::Tmpfs { target, .. } if target != path))
    };
    let mut parents: Vec<_> = target.ancestors().skip(1).filter(|path| is_private(path)).collect();
    parents.reverse();
    parents
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) -> &mut Self {
        self.0.extend(words.iter().map(OsString::from));
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.0.push(path.into());
        self
    }

    fn rule(&mut self, rule: &MountRule, tmpfs_bytes: u64, open: &OpenSources<'_>) {
        match rule {
            MountRule::Tmpfs { target, mode } => {
                self.words(&[
                    "--perms",
                    &format!("{mode:04o}"),
                    "--size",
                    &tmpfs_bytes.to_string(),
                    "--tmpfs",
                ])
                .path(target);
            }
            MountRule::Bind { source, target, mode, .. } => {
                let bind = if *mode == ExposeMode::ReadOnly { "--ro-bind" } else { "--bind" };
                match open.get(target.as_path()) {
                    Some(number) => self.words(&[&format!("{bind}-fd"), &number.to_string()]),
                    None => self.words(&[bind]).path(source),
                };
                self.path(target);
            }
            MountRule::Symlink { target, to } => {
                self.words(&["--symlink"]).path(to).path(target);
            }
            // Only a native cage gets one.
            MountRule::Overlay { .. } => {}
            MountRule::Hide { target, kind } => self.hide(target, *kind),
            MountRule::MaskSocket { target } => self.hide(target, HostEntryKind::File),
        }
    }

    fn hide(&mut self, target: &Path, kind: HostEntryKind) {
        match kind {
            HostEntryKind::Directory => self.words(&["--tmpfs"]).path(target),
            HostEntryKind::File => self.words(&["--ro-bind", "/dev/null"]).path(target),
        };
    }
}
