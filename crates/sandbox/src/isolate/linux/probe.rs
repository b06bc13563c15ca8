//! Finds out which backends work by running a child in each.

use crate::isolate::backend::Backend;
use crate::isolate::environment::DEFAULT_PATH;
use crate::isolate::error::TRIAL_ENDED;
use crate::isolate::host_files::{HostEntryKind, HostFiles, LiveHost};
use crate::isolate::linux::cage::Cage;
use crate::isolate::linux::select_backend::{try_bwrap, try_native};
use crate::isolate::linux::user_namespaces::user_namespace_remedy;
use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use crate::isolate::probe_result::{ProbeResult, Unusable};
use crate::launch::{
    Deadline, LaunchError, LaunchSpec, Output, OutputLimit, Principal, ProgramError, Status, Stdin, Streams,
    WorkDir, find_program, run_to_end,
};
use picoclaw_policy::config::{ExposeMode, Limits, Network};
use picoclaw_sys::linux::landlock;
use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the child of a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Errors by which a kernel, its configuration or a filter around this process refuses a feature.
/// ENOSPC is a limit on the number of namespaces (`user.max_user_namespaces`).
const LASTING: [i32; 8] = [
    libc::EPERM,
    libc::EACCES,
    libc::ENOSYS,
    libc::EINVAL,
    libc::ENODEV,
    libc::EOPNOTSUPP,
    libc::ENOSPC,
    libc::EUSERS,
];

/// Tries every backend.
pub fn probe(path: &OsStr) -> ProbeResult {
    let (native, bwrap) = (try_native(path), try_bwrap(path));
    let remedy = if native.is_err() { user_namespace_remedy() } else { None };
    ProbeResult { native, bwrap, landlock: landlock::abi(), remedy }
}

/// Runs `true` in a cage of this backend.
pub(super) fn try_backend(backend: Backend, path: &OsStr) -> Result<(), Unusable> {
    let find = |path| find_program(OsStr::new("true"), path, Path::new("/"));
    let program = find(path).or_else(|_| find(OsStr::new(DEFAULT_PATH))).map_err(|error| unusable(&error))?;
    let cage = Cage::new(minimal_plan(), backend).map_err(|error| unusable(&error))?;
    let work_dir = WorkDir::open(Path::new("/usr")).map_err(|errno| unusable(&io::Error::from(errno)))?;
    let setup = cage.setup(work_dir, protected_programs()).map_err(|error| unusable(&error))?;
    let spec = LaunchSpec {
        argv: vec!["true".into()],
        program,
        environment: Vec::new(),
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(PROBE_TIMEOUT),
        output_limit: OutputLimit::default(),
        principal: Principal::Project("/".into()),
        setup,
    };
    let finished = run_to_end(spec).map_err(|error| match error {
        // The system's programs lie elsewhere on this host.
        LaunchError::Program(
            ProgramError::NotFound { .. } | ProgramError::Hidden { .. } | ProgramError::Loader { .. },
        ) => Unusable::Missing(error_chain(&error)),
        error => unusable(&error),
    })?;
    let told = finished.stderr.to_text();
    match finished.status {
        Status::Exited(0) => Ok(()),
        status => {
            let reason = format!("{TRIAL_ENDED} {status:?}: {}", told.trim());
            let is_lasting = matches!(status, Status::Exited(_)) && tells_a_lasting_reason(&told);
            Err(if is_lasting { Unusable::Missing(reason) } else { Unusable::Failed(reason) })
        }
    }
}

/// Sorts an error by the system call's error at its end.
fn unusable(error: &(dyn Error + 'static)) -> Unusable {
    let reason = error_chain(error);
    let errno = std::iter::successors(Some(error), |error| (*error).source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .find_map(io::Error::raw_os_error);
    if errno.is_some_and(|errno| LASTING.contains(&errno)) {
        Unusable::Missing(reason)
    } else {
        Unusable::Failed(reason)
    }
}

/// Whether bubblewrap, which tells its errors by text alone, names one of [`LASTING`].
fn tells_a_lasting_reason(told: &str) -> bool {
    // Its own words for user namespaces that are disabled or too many, and for an option of a newer
    // version.
    const OWN: [&str; 3] = ["No permissions to create new namespace", "exceeded (ENOSPC)", "Unknown option"];
    // What its C library, glibc or musl, says of them.
    const TEXTS: [&str; 9] = [
        "Operation not permitted",
        "Permission denied",
        "Function not implemented",
        "Invalid argument",
        "No such device",
        "Operation not supported",
        "Not supported",
        "No space left on device",
        "Too many users",
    ];
    OWN.iter().chain(&TEXTS).any(|text| told.contains(text))
}

/// A mount as those over protected files, for which bubblewrap needs an option that it has not had
/// for long.
fn protected_programs() -> Vec<MountRule> {
    let path = PathBuf::from("/usr/bin");
    let is_shown = LiveHost.find(&path).is_some_and(|found| found.resolved == path);
    let (source, target) = (path.clone(), path);
    let (mode, kind, reason) = (ExposeMode::ReadOnly, HostEntryKind::Directory, MountReason::Protected);
    if is_shown { vec![MountRule::Bind { source, target, mode, kind, reason }] } else { Vec::new() }
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
    Plan {
        mounts,
        work_dir: "/usr".into(),
        network: Network::Host,
        unix_sockets: true,
        limits: Limits::NONE,
        debug: false,
        tmp_mb: None,
    }
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
