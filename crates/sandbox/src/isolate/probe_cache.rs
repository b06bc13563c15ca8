//! Remembers a successful probe in the instance's `state/`, for programs that live for one call.
//!
//! Without it, each such call would start a second cage only to learn that cages work. A probe that
//! failed is never remembered.
//!
//! Invariant: a wrong record costs at most a failed start, because the child's own cage is still
//! built or refused.

use super::backend::Backend;
use super::error::StartError;
use super::select_backend::{ProbeResult, choose_backend, select_backend};
use crate::boot;
use picoclaw_policy::config::{Backend as BackendChoice, IsolationConfig};
use picoclaw_sys::linux::landlock;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, readlinkat, statat};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// The record's name. No child and no file tool can write in `state/`.
const RECORD: &str = "cage-trial";

/// Kernel settings and security labels that can forbid user namespaces at run time.
const SETTINGS: [&str; 4] = [
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/self/attr/current",
];

/// As [`select_backend`], without a probe where the record in `state` says that one succeeded under
/// the same conditions.
pub fn select_backend_cached(
    isolation: &IsolationConfig,
    path: &OsStr,
    state: &Path,
) -> Result<Backend, StartError> {
    let record = state.join(RECORD);
    let wants_native = matches!(isolation.backend, BackendChoice::Auto | BackendChoice::Native);
    let conditions = conditions();
    if wants_native && conditions.is_some() && read(&record) == conditions {
        let bwrap = Err("not tried".to_owned());
        let known = ProbeResult { native: Ok(()), bwrap, landlock: landlock::abi() };
        return choose_backend(isolation, &known);
    }
    let backend = select_backend(isolation, path)?;
    if let (Backend::Native, Some(conditions)) = (&backend, conditions) {
        // If this fails, the next call probes again.
        let _ = write(&record, &conditions);
    }
    Ok(backend)
}

/// Everything that the result of a probe depends on: boot, kernel, user, namespaces, settings,
/// confinement of this process, and this program. `None` when a part cannot be read.
fn conditions() -> Option<String> {
    let mut text = Some(boot::id()).filter(|id| !id.is_empty())?.to_owned();
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

/// The text of a small file.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut bytes = vec![0; 4096];
    let length = rustix::io::read(&file, &mut bytes).ok()?;
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

/// Not atomic: a truncated record equals no conditions.
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
    fn a_record_of_other_conditions_is_not_used() {
        let state = tempfile::tempdir().unwrap();
        let record = state.path().join(RECORD);
        let isolation = picoclaw_policy::config::Config::default().isolation;
        let path = OsStr::new("/usr/bin:/bin");
        let Ok(Backend::Native) = select_backend_cached(&isolation, path, state.path()) else {
            eprintln!("SKIPPED: this host gives no native cage");
            return;
        };
        let first = read(&record).unwrap();
        assert_eq!(Some(&first), conditions().as_ref(), "the successful probe was recorded");
        for (why, forged) in [
            ("empty", String::new()),
            ("another boot", first.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1)),
            ("truncated", first[..first.len() / 2].to_owned()),
        ] {
            write(&record, &forged).unwrap();
            assert_ne!(read(&record), conditions(), "{why}");
            let selected = select_backend_cached(&isolation, path, state.path());
            assert!(matches!(selected, Ok(Backend::Native)), "{why}");
            assert_eq!(read(&record).as_ref(), Some(&first), "{why}: probed and recorded anew");
        }
    }

    #[test]
    fn a_failed_probe_is_not_recorded() {
        let state = tempfile::tempdir().unwrap();
        let mut isolation = picoclaw_policy::config::Config::default().isolation;
        isolation.backend = BackendChoice::Native;
        // Without a `PATH` there is no program to probe with.
        let failed = select_backend_cached(&isolation, OsStr::new("/nonexistent"), state.path());
        assert!(matches!(failed, Err(StartError::Native { .. })), "{failed:?}");
        assert_eq!(read(&state.path().join(RECORD)), None);
    }

    #[test]
    fn a_backend_that_is_asked_for_by_name_is_probed_all_the_same() {
        let state = tempfile::tempdir().unwrap();
        let record = state.path().join(RECORD);
        write(&record, &conditions().unwrap()).unwrap();
        let mut isolation = picoclaw_policy::config::Config::default().isolation;
        isolation.backend = BackendChoice::Bwrap;
        match select_backend_cached(&isolation, OsStr::new("/usr/bin:/bin"), state.path()) {
            Ok(backend) => assert!(matches!(backend, Backend::Bwrap(_)), "{backend:?}"),
            Err(why) => assert!(matches!(why, StartError::Bwrap { .. }), "{why}"),
        }
    }
}
