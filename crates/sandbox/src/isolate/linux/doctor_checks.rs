//! The checks of `picoclaw doctor`: attempts by a child in a real cage.
//!
//! Invariant: a promise counts as kept only when the attempt was seen to fail.

use crate::isolate::doctor_check::{CheckResult, Decoys, DoctorCheck, Visibility};
use crate::isolate::error::quoted;
use crate::launch::{Finished, LaunchError, Status};
use picoclaw_sys::linux::MemoryKind;
use picoclaw_sys::linux::landlock;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// A UNIX socket that a child would reach if the cage did not hold.
#[derive(Debug)]
pub struct DecoyListener {
    _listener: UnixListener,
}

impl DecoyListener {
    /// Listens at `path`; `None` where no socket can be made.
    pub fn bind(path: &Path) -> Option<Self> {
        UnixListener::bind(path).ok().map(|listener| Self { _listener: listener })
    }

    /// In the child of a check: whether a connection to the socket at `path` is made.
    pub fn can_connect(path: &Path) -> bool {
        UnixStream::connect(path).is_ok()
    }
}

/// How long a child keeps memory that it could take.
const HOLD_TIME: Duration = Duration::from_secs(1);

/// The largest memory limit that is tried, in MiB.
const MAX_TRIED_MB: u64 = 512;

/// Runs every check, each in a child that `run` starts from a shell line.
pub fn run_doctor_checks(
    decoys: &Decoys<'_>,
    run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
) -> Vec<DoctorCheck> {
    let (home, secret) = (quoted(decoys.home), quoted(decoys.secret));
    let mut checks = vec![
        yes_or_no(
            run,
            ("can it read your home?", "filesystem"),
            // Landlock does not hide that a file is there; what counts is a byte or a name that was
            // read.
            &format!(
                "for f in .ssh .aws .config .bashrc .profile .gitconfig .netrc; do \
                 {{ cat {home}/$f || ls -A {home}/$f/; }} 2>/dev/null | grep -q . && echo yes; done; echo no"
            ),
        ),
        yes_or_no(
            run,
            ("can it read the configuration?", "filesystem"),
            &format!("cat {secret} >/dev/null 2>&1 && echo yes; echo no"),
        ),
        write_outside(decoys.writable, run),
    ];
    checks.extend(reach_socket(decoys, run));
    checks.extend([
        signal_processes(decoys, run),
        see_processes(decoys, run),
        yes_or_no(
            run,
            ("can it gain privileges?", "syscalls"),
            // The bounding set gives nothing to a child that cannot gain privileges by `execve`.
            "test -r /proc/self/status || exit; \
             grep -qE '^(CapInh|CapEff|CapPrm|CapAmb):.*[1-9a-f]|^NoNewPrivs:.*0' /proc/self/status && echo yes; echo no",
        ),
        yes_or_no(
            run,
            ("does it make system calls unfiltered?", "syscalls"),
            "test -r /proc/self/status || exit; grep -q '^Seccomp:.*0' /proc/self/status && echo yes; echo no",
        ),
        yes_or_no(
            run,
            ("does it see your environment?", "environment"),
            &format!("env | grep -q '^{}=' && echo yes; echo no", decoys.variable),
        ),
    ]);
    checks.push(network(decoys, run));
    checks.push(memory(decoys, run));
    checks.extend(KINDS.iter().filter_map(|kind| kind_of_memory(decoys, *kind, run)));
    checks
}

fn yes_or_no(
    run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
    (question, layer): (&'static str, &'static str),
    line: &str,
) -> DoctorCheck {
    let observed = match run(line) {
        Ok(finished) if finished.stdout.to_text().starts_with("yes") => "yes".to_owned(),
        Ok(finished) if finished.stdout.to_text().starts_with("no") => "no".to_owned(),
        Ok(finished) => format!("no answer: {:?} {}", finished.status, finished.stderr.to_text().trim()),
        Err(error) => format!("no answer: {error}"),
    };
    // A child that did not answer has shown nothing.
    let result = if observed == "no" { CheckResult::Kept } else { CheckResult::Broken };
    DoctorCheck { question, layer, expected: "no", observed, result }
}

/// Whether a child's write reaches the host. In a private directory the write itself may succeed.
fn write_outside(writable: &Path, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> DoctorCheck {
    let file = writable.join(format!("picoclaw-doctor-{}", std::process::id()));
    let line = format!("(: > {}) 2>/dev/null; echo no", quoted(&file));
    let mut check = yes_or_no(run, ("can it write outside?", "filesystem"), &line);
    if rustix::fs::unlink(&file).is_ok() {
        check.observed = "yes".to_owned();
        check.result = CheckResult::Broken;
    }
    check
}

/// Whether a child can connect to a socket of this process.
fn reach_socket(
    decoys: &Decoys<'_>,
    run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
) -> Option<DoctorCheck> {
    let (question, layer) = ("can it connect to sockets outside?", "filesystem");
    let program = decoys.program?;
    let Some(socket) = decoys.socket else {
        let (observed, result) = ("not tried: no socket could be made".to_owned(), CheckResult::NotPromised);
        return Some(DoctorCheck { question, layer, expected: "no", observed, result });
    };
    let line = format!("exec {} doctor --connect {}", quoted(program), quoted(socket));
    let mut check = yes_or_no(run, (question, layer), &line);
    if !decoys.sockets_held {
        check.expected = "yes: `isolation.unix_sockets` is true, and sockets cannot be masked without mounts";
        check.result = CheckResult::NotPromised;
    }
    Some(check)
}

/// Whether a child can signal this process.
fn signal_processes(decoys: &Decoys<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> DoctorCheck {
    let line = format!("kill -0 {} 2>/dev/null && echo yes; echo no", std::process::id());
    let mut check = yes_or_no(run, ("can it signal your processes?", "processes"), &line);
    if decoys.processes == Visibility::Visible && landlock::abi().is_none_or(|abi| abi < 6) {
        check.expected =
            "yes: there is no process namespace here, and Landlock holds signals from Linux 6.12 on";
        check.result = CheckResult::NotPromised;
    }
    check
}

/// Whether `/proc` shows this process, by pid and name: the pid alone may be a process of the cage.
fn see_processes(decoys: &Decoys<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> DoctorCheck {
    let own_pid = std::process::id();
    let name = process_name();
    let name = quoted(Path::new(name.trim_end()));
    let line = format!("grep -qxF -e {name} /proc/{own_pid}/comm 2>/dev/null && echo yes; echo no");
    let mut check = yes_or_no(run, ("can it see your processes?", "processes"), &line);
    let shown = match decoys.processes {
        Visibility::Hidden => return check,
        Visibility::Named => "yes: no `/proc` can be mounted here, so the host's is shown",
        Visibility::Visible => "yes: there is no process namespace here",
    };
    check.expected = shown;
    check.result = CheckResult::NotPromised;
    check
}

fn process_name() -> String {
    let mut name = [0; 32];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let read = openat(CWD, "/proc/self/comm", flags, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut name))
        .unwrap_or_default();
    String::from_utf8_lossy(name.get(..read).unwrap_or_default()).into_owned()
}

fn network(decoys: &Decoys<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> DoctorCheck {
    let line = match (decoys.program, decoys.address) {
        (Some(program), Some(address)) => format!("exec {} doctor --connect {address}", quoted(program)),
        // Nothing listens for it: more than the loopback interface is a network.
        _ => "test \"$(grep -c : /proc/net/dev)\" -gt 1 && echo yes; test -r /proc/net/dev && echo no"
            .to_owned(),
    };
    let mut check = yes_or_no(run, ("can it reach the network?", "network"), &line);
    if decoys.network.is_open() {
        check.expected = "yes: `isolation.network` is `host`";
        check.result = CheckResult::NotPromised;
    }
    check
}

fn memory(decoys: &Decoys<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> DoctorCheck {
    let (question, layer, expected) = ("can it exhaust private memory?", "limits", "no");
    let limit = decoys.limits.memory_mb;
    if limit == 0 || limit > MAX_TRIED_MB {
        let observed = format!("not tried: the limit is {limit} MiB");
        return DoctorCheck { question, layer, expected, observed, result: CheckResult::NotPromised };
    }
    // `tail` keeps all its input in memory until it has written it. Its first byte says that it has
    // all of it; the rest is read late enough for a limit that is watched.
    let bytes = (limit + 64) << 20;
    let late = "{ dd bs=1 count=1 of=/dev/null 2>&-; sleep 1; wc -c; }";
    let finished = run(&format!("head -c {bytes} /dev/zero | tail -c {bytes} | {late}"));
    let (observed, result) = match finished {
        Ok(finished) if finished.status == Status::OutOfMemory => {
            ("no: it was ended".to_owned(), CheckResult::Kept)
        }
        Ok(finished) if finished.stdout.to_text().trim() == (bytes - 1).to_string() => {
            ("yes".to_owned(), CheckResult::Broken)
        }
        Ok(_) => ("no: it was refused more".to_owned(), CheckResult::Kept),
        Err(error) => (format!("no answer: {error}"), CheckResult::Broken),
    };
    DoctorCheck { question, layer, expected, observed, result }
}

/// Kinds of memory, with their name on the command line.
const KINDS: [(&str, &str, MemoryKind); 5] = [
    ("can it exhaust shared memory?", "shared", MemoryKind::Shared),
    ("can it exhaust memory by memfds?", "memfd", MemoryKind::Memfd),
    ("can it exhaust System V memory?", "system-v", MemoryKind::SystemV),
    ("can it exhaust memory by tmpfs files?", "tmpfs", MemoryKind::Tmpfs),
    ("can it exhaust memory by sockets?", "sockets", MemoryKind::Sockets),
];

/// The kind of memory with this name on the command line.
fn kind_named(name: &str) -> Option<MemoryKind> {
    KINDS.iter().find(|(_, own, _)| *own == name).map(|(_, _, kind)| *kind)
}

/// In the child of a check: takes memory, and says what came of it.
pub fn hold_memory(name: &str, mebibytes: usize) -> &'static str {
    match kind_named(name).map(|kind| picoclaw_sys::linux::hold_memory(kind, mebibytes)) {
        Some(Ok(held)) => {
            // Long enough for a limit that is watched.
            std::thread::sleep(HOLD_TIME);
            drop(held);
            "held"
        }
        Some(Err(_)) => "refused",
        None => "unknown",
    }
}

fn kind_of_memory(
    decoys: &Decoys<'_>,
    (question, name, kind): (&'static str, &str, MemoryKind),
    run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
) -> Option<DoctorCheck> {
    let limit = decoys.limits.memory_mb;
    let program = quoted(decoys.program.filter(|_| (1..=MAX_TRIED_MB).contains(&limit))?);
    let finished = run(&format!("exec {program} doctor --hold {name} --mebibytes {}", limit + 64));
    let (observed, result) = match finished {
        Ok(finished) if finished.status == Status::OutOfMemory => {
            ("no: it was ended".to_owned(), CheckResult::Kept)
        }
        Ok(finished) => match (finished.stdout.to_text().trim(), kind) {
            ("refused", _) => ("no: it was refused more".to_owned(), CheckResult::Kept),
            ("held", MemoryKind::Sockets) => {
                let why = "yes: socket buffers and descriptors in flight are counted by a cgroup alone";
                (why.to_owned(), CheckResult::NotPromised)
            }
            ("held", _) => ("yes".to_owned(), CheckResult::Broken),
            _ => (format!("no answer: {:?}", finished.status), CheckResult::Broken),
        },
        Err(error) => (format!("no answer: {error}"), CheckResult::Broken),
    };
    Some(DoctorCheck { question, layer: "limits", expected: "no", observed, result })
}
