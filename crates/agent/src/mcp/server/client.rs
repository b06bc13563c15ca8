//! What is known of one client: whether it shook hands in the old way, and the roots that it named.
//!
//! Invariant: roots that were called back are not used for a call that came after that.

use super::roots::Roots;
use rmcp::model::ProtocolVersion;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Mutex, MutexGuard};

/// How a client says who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Introduction {
    /// Once, with a handshake.
    Handshake,
    /// With each request, since revision 2026-07-28.
    EachRequest,
}

/// One client.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// Its roots, once they were asked for; held while they are.
    roots: Mutex<Option<Roots>>,
    /// A revision with a handshake: nothing has to be said again with each request.
    has_greeted: AtomicBool,
}

impl Client {
    /// It shook hands, and speaks `version`.
    pub(super) fn greeted(&self, version: &ProtocolVersion) {
        let is_known_for_all = version.as_str() < ProtocolVersion::V_2026_07_28.as_str();
        self.has_greeted.store(is_known_for_all, Ordering::Release);
    }

    /// Its roots, to be looked at or asked for by one at a time.
    pub(super) async fn roots(&self) -> MutexGuard<'_, Option<Roots>> {
        self.roots.lock().await
    }

    /// How it says who it is, as far as that is known.
    pub(super) fn introduction(&self) -> Introduction {
        match self.has_greeted.load(Ordering::Acquire) {
            true => Introduction::Handshake,
            false => Introduction::EachRequest,
        }
    }

    /// Its roots, if nothing has to be asked to know them.
    pub(super) fn settled_roots(&self) -> Option<Roots> {
        self.roots.try_lock().ok()?.clone()
    }

    /// It will name others. While they are being asked for, whoever asks takes note of it later.
    pub(super) fn forget_roots(&self) {
        if let Ok(mut roots) = self.roots.try_lock() {
            *roots = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_settled_once_they_were_asked_for_and_until_they_change() {
        for (why, has_asked) in [("nothing was asked", false), ("asked", true)] {
            let client = Client::default();
            if has_asked {
                *client.roots.try_lock().unwrap() = Some(Roots::default());
            }
            assert_eq!(client.settled_roots().is_some(), has_asked, "{why}");
            client.forget_roots();
            assert_eq!(client.settled_roots(), None, "{why}: called back");
        }
    }

    #[test]
    fn only_a_handshake_of_a_revision_that_has_one_says_it_for_all_requests() {
        let client = Client::default();
        assert_eq!(client.introduction(), Introduction::EachRequest, "nothing was said");
        for (version, want) in [
            (ProtocolVersion::V_2025_11_25, Introduction::Handshake),
            (ProtocolVersion::V_2026_07_28, Introduction::EachRequest),
        ] {
            client.greeted(&version);
            assert_eq!(client.introduction(), want, "{version}");
        }
    }
}
