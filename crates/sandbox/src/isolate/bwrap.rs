//! The bubblewrap backend: the same plan, as arguments of somebody else's program.
//!
//! Invariant: the program is root's own, and was looked for once.

use crate::isolate::host::Kind;
use crate::isolate::plan::Plan;
use crate::isolate::view::Rule;
use picoclaw_policy::config::{ExposeMode, Network};
use rustix::fs::{AtFlags, CWD, FileType};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How to get bubblewrap, as the documentation says it.
pub const INSTALL_HINTS: &str = "apt install bubblewrap; dnf install bubblewrap; yum install bubblewrap; pacman -S bubblewrap; apk add bubblewrap";

/// The descriptor that carries the system call filter to bubblewrap.
pub(super) const FILTER_FD: i32 = 9;

/// The descriptor on which the second stage says that the walls stand.
pub(super) const STAGE_FD: i32 = 8;

/// The second stage, inside the finished walls: what bubblewrap does not do. It limits the number of processes (counted in
/// the new user namespace; shells spell it in two ways), says that the walls stand, and becomes the command; a command
/// that cannot be executed then ends as in any shell, with 126 or 127.
pub(super) fn second_stage(processes: u64) -> Vec<OsString> {
    let limit = match processes {
        0 => String::new(),
        most => format!("ulimit -u {most} 2>/dev/null || ulimit -p {most} 2>/dev/null; "),
    };
    let line = format!("{limit}echo >&{STAGE_FD}; exec {STAGE_FD}>&-; exec \"$@\"");
    ["/bin/sh", "-c", &line, "sh"].map(OsString::from).into()
}

/// Finds bubblewrap along `path`: the first one that only root can have put there (W69).
pub fn find_bwrap(path: &OsStr) -> Option<PathBuf> {
    let standard = ["/usr/bin", "/bin", "/usr/local/bin"].map(PathBuf::from);
    let places = std::env::split_paths(path).filter(|place| place.is_absolute()).chain(standard);
    places.map(|place| place.join("bwrap")).find(|program| {
        let Ok(resolved) = std::fs::canonicalize(program) else { return false };
        is_roots(&resolved, FileType::RegularFile)
            && resolved.ancestors().skip(1).all(|at| is_roots(at, FileType::Directory))
    })
}

fn is_roots(path: &Path, kind: FileType) -> bool {
    let Ok(stat) = rustix::fs::statat(CWD, path, AtFlags::empty()) else { return false };
    stat.st_uid == 0 && stat.st_mode & 0o022 == 0 && FileType::from_raw_mode(stat.st_mode) == kind
}

/// The arguments that make bubblewrap build this plan; the command's own follow.
pub fn bwrap_arguments(plan: &Plan) -> Vec<OsString> {
    let mut line = Line(Vec::new());
    line.words(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if plan.network == Network::None {
        line.words(&["--unshare-net"]);
    }
    line.words(&[
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
    for rule in &plan.view {
        line.rule(rule, plan.scratch_bytes());
    }
    for rule in &plan.view {
        if let Rule::Hide { target, kind: Kind::Directory } = rule {
            line.words(&["--remount-ro"]).path(target);
        }
    }
    line.words(&["--remount-ro", "/proc", "--remount-ro", "/"]);
    line.words(&["--seccomp", &FILTER_FD.to_string(), "--chdir"]).path(&plan.work_dir);
    line.words(&["--"]);
    line.0
}

struct Line(Vec<OsString>);

impl Line {
    fn words(&mut self, words: &[&str]) -> &mut Self {
        self.0.extend(words.iter().map(OsString::from));
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.0.push(path.into());
        self
    }

    fn rule(&mut self, rule: &Rule, scratch: u64) {
        match rule {
            // Its own `/dev` has one already.
            Rule::Scratch { target } if target.starts_with("/dev") => {}
            Rule::Scratch { target } => {
                self.words(&["--perms", "1777", "--size", &scratch.to_string(), "--tmpfs"]).path(target);
            }
            Rule::Show { source, target, mode, .. } => {
                let bind = if *mode == ExposeMode::ReadOnly { "--ro-bind" } else { "--bind" };
                self.words(&[bind]).path(source).path(target);
            }
            Rule::Link { target, to } => {
                self.words(&["--symlink"]).path(to).path(target);
            }
            Rule::Hide { target, kind: Kind::Directory } => {
                self.words(&["--tmpfs"]).path(target);
            }
            Rule::Hide { target, kind: Kind::File } => {
                self.words(&["--ro-bind", "/dev/null"]).path(target);
            }
        }
    }
}
