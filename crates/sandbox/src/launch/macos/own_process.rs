//! This process: its hardening, its descriptor limit and its memory.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The most descriptors that the kernel lets a process ask for.
const OPEN_MAX: u64 = 10_240;

/// Takes core dumps from this process. Another program of the same user may still be allowed to
/// trace it.
pub fn harden_self() -> io::Result<()> {
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Raises the soft limit on descriptors to `wanted`, as far as the system allows, and returns what
/// it is now.
pub fn raise_fd_limit(wanted: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(OPEN_MAX).min(OPEN_MAX).min(wanted);
    if now.current.is_some_and(|current| current < most)
        && let Err(why) = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..now })
    {
        tracing::warn!(target: "launch", error = %why, "The limit on descriptors stays as it is");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(wanted)
}

/// Not measured here.
pub fn resident_bytes() -> Option<u64> {
    None
}
