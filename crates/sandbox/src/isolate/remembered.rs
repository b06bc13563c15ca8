//! A trial that passed, remembered for programs that live for one call.
//!
//! A program that stays tries a real cage before it starts. One that only answers a call may rely on a trial that passed
//! before under the same circumstances: same boot, kernel, user, namespaces, confinement, settings of the kernel, same
//! binary. Should it be wrong all the same, the child's cage cannot be built and the child does not start.
//!
//! Invariant: the note only ever saves a trial; whoever forges one gains a later error and no access.

use super::error::StartError;
use super::pick::pick;
use super::rung::{Probed, Rung, choose};
use crate::boot_id::boot_id;
use picoclaw_policy::config::{Backend, IsolationConfig};
use picoclaw_sys::linux::landlock;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, readlinkat, statat};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// The note's name in the instance's `state/`, which no child and no file tool can write.
const NOTE: &str = "cage-trial";

/// What forbids or allows user namespaces while a kernel runs.
const SETTINGS: [&str; 4] = [
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/self/attr/current",
];

/// The rung that the configuration asks for, from a note in `state` where one applies.
pub fn pick_remembered(isolation: &IsolationConfig, path: &OsStr, state: &Path) -> Result<Rung, StartError> {
    let native = matches!(isolation.backend, Backend::Auto | Backend::Native);
    let (note, now) = (state.join(NOTE), circumstances());
    if native && now.is_some() && read(&note) == now {
        let untried = Err("not tried".to_owned());
        return choose(isolation, &Probed { native: Ok(()), bwrap: untried, landlock: landlock::abi() });
    }
    let rung = pick(isolation, path)?;
    if let (Rung::Native, Some(now)) = (&rung, now) {
        // Without a note, the next call tries again.
        let _ = write(&note, &now);
    }
    Ok(rung)
}

/// Everything that a trial's outcome depends on, as one text; `None` when a part of it cannot be known.
fn circumstances() -> Option<String> {
    let mut text = Some(boot_id()).filter(|id| !id.is_empty())?.to_owned();
    let system = rustix::system::uname();
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    writeln!(text, "{} {user} {group}", system.release().to_string_lossy()).ok()?;
    for namespace in ["/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/pid"] {
        writeln!(text, "{}", readlinkat(CWD, namespace, Vec::new()).ok()?.to_string_lossy()).ok()?;
    }
    for setting in SETTINGS {
        writeln!(text, "{setting} {}", read(Path::new(setting)).unwrap_or_default().trim_end()).ok()?;
    }
    let status = read(Path::new("/proc/self/status"))?;
    for line in status.lines().filter(|line| line.starts_with("Seccomp") || line.starts_with("NoNewPrivs")) {
        writeln!(text, "{line}").ok()?;
    }
    let own = statat(CWD, "/proc/self/exe", AtFlags::empty()).ok()?;
    let (device, inode, size, changed) = (own.st_dev, own.st_ino, own.st_size, own.st_ctime);
    writeln!(text, "{device} {inode} {size} {changed}.{}", own.st_ctime_nsec).ok()?;
    Some(text)
}

/// A small file's text.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut bytes = vec![0; 4096];
    let length = rustix::io::read(&file, &mut bytes).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

/// Not atomic: a note that is cut short applies to nothing.
fn write(path: &Path, text: &str) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&file, text.as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_other_circumstances_applies_to_nothing() {
        let state = tempfile::tempdir().unwrap();
        let note = state.path().join(NOTE);
        let isolation = picoclaw_policy::config::Config::default().isolation;
        let path = OsStr::new("/usr/bin:/bin");
        let Ok(Rung::Native) = pick_remembered(&isolation, path, state.path()) else {
            picoclaw_testing::skip!("this host gives no native cage");
            return;
        };
        let first = read(&note).unwrap();
        assert_eq!(Some(&first), circumstances().as_ref(), "the passed trial was noted");
        for (why, forged) in [
            ("nothing", String::new()),
            ("another boot", first.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1)),
            ("cut short", first[..first.len() / 2].to_owned()),
        ] {
            write(&note, &forged).unwrap();
            assert_ne!(read(&note), circumstances(), "{why}");
            assert!(matches!(pick_remembered(&isolation, path, state.path()), Ok(Rung::Native)), "{why}");
            assert_eq!(read(&note).as_ref(), Some(&first), "{why}: tried and noted anew");
        }
    }

    #[test]
    fn a_backend_that_is_asked_for_by_name_is_tried_all_the_same() {
        let state = tempfile::tempdir().unwrap();
        let note = state.path().join(NOTE);
        write(&note, &circumstances().unwrap()).unwrap();
        let mut isolation = picoclaw_policy::config::Config::default().isolation;
        isolation.backend = Backend::Bwrap;
        match pick_remembered(&isolation, OsStr::new("/usr/bin:/bin"), state.path()) {
            Ok(rung) => assert!(matches!(rung, Rung::Bwrap(_)), "{rung:?}"),
            Err(why) => assert!(matches!(why, StartError::Bwrap { .. }), "{why}"),
        }
    }
}
