//! Finds out which backends work by running a child in each.

use crate::isolate::backend::Backend;
use crate::isolate::cage::Cage;
use crate::isolate::host_files::{HostEntryKind, HostFiles, LiveHost};
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use crate::isolate::select_backend::{ProbeResult, try_bwrap};
use crate::launch::{
    Deadline, LaunchSpec, Output, OutputLimit, Principal, Status, Stdin, Streams, WorkDir, find_program,
    run_to_end,
};
use picoclaw_policy::config::{ExposeMode, Limits, Network};
use picoclaw_sys::linux::landlock;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the child of a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Tries every backend.
pub fn probe(path: &OsStr) -> ProbeResult {
    let (native, bwrap) = (try_backend(Backend::Native, path), try_bwrap(path));
    ProbeResult { native, bwrap, landlock: landlock::abi() }
}

/// Runs `true` in a cage of this backend.
pub(super) fn try_backend(backend: Backend, path: &OsStr) -> Result<(), String> {
    let program =
        find_program(OsStr::new("true"), path, Path::new("/")).map_err(|error| error.to_string())?;
    let cage = Cage::new(minimal_plan(), backend).map_err(|error| error_chain(&error))?;
    let work_dir = WorkDir::open(Path::new("/usr")).map_err(|errno| errno.to_string())?;
    let setup = cage.setup(work_dir).map_err(|error| error_chain(&error))?;
    let spec = LaunchSpec {
        argv: vec!["true".into()],
        program,
        environment: Vec::new(),
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(PROBE_TIMEOUT),
        output_limit: OutputLimit::default(),
        principal: Principal::Person,
        setup,
    };
    let finished = run_to_end(spec).map_err(|error| error_chain(&error))?;
    match finished.status {
        Status::Exited(0) => Ok(()),
        status => Err(format!("a trial child ended with {status:?}: {}", finished.stderr.to_text().trim())),
    }
}

/// The system's programs, and no limits.
fn minimal_plan() -> Plan {
    let mut mounts = Vec::new();
    for target in ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from) {
        let Some(found) = LiveHost.find(&target) else { continue };
        let source = found.resolved;
        mounts.push(if source == target {
            let (mode, kind) = (ExposeMode::ReadOnly, HostEntryKind::Directory);
            MountRule::Bind { source, target, mode, kind, reason: MountReason::System }
        } else {
            MountRule::Symlink { target, to: source }
        });
    }
    let limits = Limits { memory_mb: 0, processes: 0, file_size_mb: 0, open_files: 0, cpu_seconds: 0 };
    Plan { mounts, work_dir: "/usr".into(), network: Network::Host, limits }
}

/// An error with its causes, in one line.
fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
