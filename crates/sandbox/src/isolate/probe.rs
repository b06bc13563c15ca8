//! What this host gives, found out by doing it.
//!
//! Invariant: `native` is `Ok` only after a real child has run in a real cage.

use crate::isolate::cage::Cage;
use crate::isolate::host::HostFiles;
use crate::isolate::pick::try_bwrap;
use crate::isolate::plan::Plan;
use crate::isolate::rung::{Probed, Rung};
use crate::isolate::view::{Rule, Why};
use crate::isolate::{Kind, LiveHost};
use crate::launch::{
    Bounds, Deadline, LaunchSpec, Output, Principal, Status, Stdin, Streams, Walls, WorkDir, find_program,
    run_to_end,
};
use picoclaw_policy::config::{ExposeMode, Limits, Network};
use picoclaw_sys::linux::landlock;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Tries every rung with a child that does nothing.
pub fn probe(path: &OsStr) -> Probed {
    let (native, bwrap) = (try_rung(Rung::Native, path), try_bwrap(path));
    Probed { native, bwrap, landlock: landlock::abi() }
}

/// Whether a child that does nothing runs in a cage that `rung` holds.
pub(super) fn try_rung(rung: Rung, path: &OsStr) -> Result<(), String> {
    let program =
        find_program(OsStr::new("true"), path, Path::new("/")).map_err(|error| error.to_string())?;
    let cage = Cage::new(plan(), rung).map_err(|error| words(&error))?;
    let spec = LaunchSpec {
        argv: vec!["true".into()],
        program,
        work_dir: WorkDir::open(Path::new("/usr")).map_err(|errno| errno.to_string())?,
        environment: Vec::new(),
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(Duration::from_secs(5)),
        bounds: Bounds::default(),
        principal: Principal::Person,
        walls: Walls::Cage(Arc::new(cage)),
    };
    let finished = run_to_end(spec).map_err(|error| words(&error))?;
    match finished.status {
        Status::Exited(0) => Ok(()),
        status => Err(format!("a trial child ended with {status:?}: {}", finished.stderr.to_text().trim())),
    }
}

/// The system's programs and nothing else.
fn plan() -> Plan {
    let mut view = Vec::new();
    for path in ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from) {
        let Some(found) = LiveHost.find(&path) else { continue };
        if found.resolved != path {
            view.push(Rule::Link { target: path, to: found.resolved });
            continue;
        }
        let (mode, kind, why) = (ExposeMode::ReadOnly, Kind::Directory, Why::System);
        view.push(Rule::Show { source: found.resolved, target: path, mode, kind, why });
    }
    let limits = Limits { memory_mb: 0, processes: 0, file_size_mb: 0, open_files: 0, cpu_seconds: 0 };
    Plan { view, work_dir: "/usr".into(), network: Network::Host, limits }
}

/// An error with its causes, in one line.
fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
