//! How many descriptors picoclaw may have.
//!
//! Invariant: what it takes for itself it does not hand on.

/// Lets this process have up to `most` descriptors, as far as the host lets it; its children may have no more than before.
/// Answers how many it may have now.
pub fn raise_descriptors(most: u64) -> u64 {
    if let Err(why) = picoclaw_sys::linux::raise_fd_limit(most) {
        tracing::warn!(target: "launch", error = %why, "The limit on descriptors stays as it is");
    }
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(most)
}
