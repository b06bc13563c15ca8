//! What tests share: how one says that it could not run here, and how it waits. Used by tests
//! alone.
//!
//! `make test` names a file in `PICOCLAW_SKIPS`, counts its lines at the end and lists their
//! reasons; what was skipped in one run and ran in another (as root, as an ordinary user) does not
//! count there. In any other run `STRICT=1` makes a skipped test fail.

use std::fmt::Display;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// How long a test waits for what comes at some time, on a machine that may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until something is so.
///
/// # Panics
/// After [`PATIENCE`], with `what` was waited for.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Waits for something, and returns it.
///
/// # Panics
/// After [`PATIENCE`], with `what` was waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Reports a skipped test, or the part of it that was skipped: `skip!("python3 is not installed")`.
/// The test returns afterwards.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => { $crate::report(format_args!($($reason)+)) };
}

/// Writes the name of the current test and `reason` to standard error and to the file that
/// `PICOCLAW_SKIPS` names.
///
/// # Panics
/// Where the file cannot be written, and under `STRICT=1` where there is none.
#[expect(clippy::panic, reason = "a skip that cannot be reported, or that is not allowed, fails the test")]
pub fn report(reason: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed");
    eprintln!("SKIPPED: {test}: {reason}");
    let Some(path) = std::env::var_os("PICOCLAW_SKIPS") else {
        assert!(std::env::var_os("STRICT").is_none_or(|strict| strict != "1"), "skipped: {reason}");
        return;
    };
    let pass = std::env::var("PICOCLAW_PASS").unwrap_or_default();
    let reason = reason.to_string().replace(['\n', '\t'], " ");
    let line = format!("{pass}\t{test}\t{reason}\n");
    let written = std::fs::OpenOptions::new()
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(why) = written {
        panic!("the skip could not be reported: {why}");
    }
}
