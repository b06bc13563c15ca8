//! Tries the addresses of a host one after the other.

use super::wait_limit::{WaitEnded, WaitLimit};
use std::net::SocketAddr;
use std::time::Duration;

/// The most addresses of one host that are tried.
const MAX_TRIES: usize = 4;

/// The longest that one address is tried.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(10);

/// Tries addresses until one succeeds; the last error if none does, `None` if there is no address.
pub(crate) fn try_each<T, E: From<WaitEnded>>(
    addresses: &[SocketAddr],
    limit: &WaitLimit,
    attempt: impl Fn(SocketAddr, &WaitLimit) -> Result<T, E>,
) -> Option<Result<T, E>> {
    let mut last = None;
    let tries = addresses.len().min(MAX_TRIES) as u32;
    for (nth, address) in addresses.iter().take(MAX_TRIES).enumerate() {
        // The time is shared: an address that drops packets leaves time for the next.
        let share = match limit.left() {
            Ok(left) => left / (tries - nth as u32).max(1),
            Err(why) => return Some(Err(why.into())),
        };
        match attempt(*address, &limit.at_most(share.min(ADDRESS_TIMEOUT))) {
            Ok(done) => return Some(Ok(done)),
            Err(why) => last = Some(Err(why)),
        }
    }
    last
}
