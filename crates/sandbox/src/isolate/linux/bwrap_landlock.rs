//! The Landlock rules of a bubblewrap cage.
//!
//! A process in a Landlock domain cannot mount, so the domain is entered after bubblewrap has built
//! the cage: bubblewrap executes this program again, which enters the domain and executes the
//! command. Without it root could write what `/proc/1/exe` leads to, the host's `bwrap`.

use crate::isolate::error::IsolateError;
use crate::isolate::linux::kernel_error;
use crate::isolate::linux::landlock_rules::granted_rights;
use crate::isolate::plan::Plan;
use picoclaw_sys::linux::{Exec, Step, confine_and_exec, landlock};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The descriptor of the ruleset, which the launcher made.
pub(super) const RULESET_FD: i32 = 6;

/// The descriptor of this program, which has no path in the cage.
pub(super) const PROGRAM_FD: i32 = 7;

/// The first argument of this program where it is to enter the domain. Pairs of rights and paths
/// follow, then `--` and the command.
const FLAG: &str = "--enter-landlock";

static IS_CALLED_BY_MAIN: AtomicBool = AtomicBool::new(false);

/// Enters a Landlock domain and executes a command, if the arguments of this program say so. For
/// the first line of `main`: only a program that calls it has Landlock in its bubblewrap cages.
pub fn enter_landlock_if_asked() {
    IS_CALLED_BY_MAIN.store(true, Ordering::Release);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != FLAG) {
        return;
    }
    let why = match parse(arguments) {
        Some((steps, exec)) => {
            let (at, error) = confine_and_exec(&steps, &exec);
            let step =
                at.and_then(|at| steps.get(at)).map_or_else(|| "execute it".to_owned(), Step::to_string);
            format!("could not {step}: {error}")
        }
        None => format!("`{FLAG}` is for picoclaw's own use in a bubblewrap cage"),
    };
    // A log does not exist yet; stderr is the command's.
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("picoclaw: {why}\n").as_bytes());
    std::process::exit(125)
}

/// This program, where it can enter a domain by itself.
pub(super) fn program() -> Result<Option<OwnedFd>, IsolateError> {
    if !is_available() {
        return Ok(None);
    }
    openat(CWD, c"/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map(Some)
        .map_err(|errno| kernel_error("open this program")(errno.into()))
}

/// Whether a bubblewrap cage keeps its commands from abstract sockets of the host.
pub(super) fn holds_abstract_sockets() -> bool {
    is_available() && landlock::abi().is_some_and(|abi| abi >= 6)
}

fn is_available() -> bool {
    IS_CALLED_BY_MAIN.load(Ordering::Acquire)
}

/// The words between bubblewrap's arguments and the command.
pub(super) fn arguments(plan: &Plan, abi: u32) -> Vec<OsString> {
    let mut words = vec![format!("/proc/self/fd/{PROGRAM_FD}").into(), FLAG.into()];
    for (path, rights) in granted_rights(plan) {
        words.push(landlock::known_rights(abi, rights).to_string().into());
        words.push(path.into());
    }
    words.push("--".into());
    words
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<(Vec<Step>, Exec)> {
    // The descriptors end at the exec.
    let mut steps = vec![Step::CloseOnExec(RULESET_FD), Step::CloseOnExec(PROGRAM_FD)];
    if openat(CWD, c"/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_err() {
        // Without a terminal: the scheduler divides processor time among sessions first, so a busy
        // tree does not keep bubblewrap from ending it.
        steps.push(Step::NewSession);
    }
    loop {
        let rights = arguments.next()?;
        if rights == "--" {
            break;
        }
        let path = c_string(&arguments.next()?)?;
        steps.push(Step::LandlockAllow(RULESET_FD, path, rights.to_str()?.parse().ok()?));
    }
    steps.extend([Step::NoNewPrivileges, Step::LandlockRestrict(RULESET_FD)]);
    let argv: Vec<CString> = arguments.map(|word| c_string(&word)).collect::<Option<_>>()?;
    let environment = std::env::vars_os().map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        c_string(&name)
    });
    let envp = environment.collect::<Option<_>>()?;
    Some((steps, Exec { path: argv.first()?.clone(), argv, envp }))
}

fn c_string(text: &OsStr) -> Option<CString> {
    CString::new(text.as_bytes()).ok()
}
