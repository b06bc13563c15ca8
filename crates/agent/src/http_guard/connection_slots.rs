//! A bounded number of connections. When all slots are taken, the oldest connection that has not
//! authenticated is closed, so that clients without the token cannot lock out those with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The slots of one listener. Clones share them.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(Arc<Shared>);

struct Shared {
    max: usize,
    state: Mutex<State>,
    released: Notify,
}

#[derive(Default)]
struct State {
    taken: BTreeMap<u64, Holder>,
    last_id: u64,
}

struct Holder {
    is_authenticated: bool,
    evicted: Arc<Notify>,
}

/// One connection's slot, released on drop.
pub(crate) struct ConnectionSlot {
    slots: ConnectionSlots,
    id: u64,
    evicted: Arc<Notify>,
}

impl ConnectionSlots {
    pub(crate) fn new(max: usize) -> Self {
        Self(Arc::new(Shared { max, state: Mutex::default(), released: Notify::new() }))
    }

    /// Takes a slot, evicting the oldest unauthenticated connection when all are taken. `None` when
    /// every connection is authenticated.
    pub(crate) fn try_acquire(&self) -> Option<ConnectionSlot> {
        let mut state = self.state();
        if state.taken.len() >= self.0.max {
            let oldest = state.taken.iter().find(|(_, holder)| !holder.is_authenticated);
            let id = oldest.map(|(id, _)| *id)?;
            // The slot is free at once; the connection ends when its task is polled.
            if let Some(holder) = state.taken.remove(&id) {
                holder.evicted.notify_one();
            }
        }
        state.last_id += 1;
        let (id, evicted) = (state.last_id, Arc::new(Notify::new()));
        state.taken.insert(id, Holder { is_authenticated: false, evicted: Arc::clone(&evicted) });
        Some(ConnectionSlot { slots: self.clone(), id, evicted })
    }

    /// Like [`try_acquire`](Self::try_acquire), but waits while every connection is authenticated.
    pub(crate) async fn acquire(&self) -> ConnectionSlot {
        loop {
            let released = self.0.released.notified();
            if let Some(slot) = self.try_acquire() {
                return slot;
            }
            released.await;
        }
    }

    /// The number of taken slots.
    pub(crate) fn count(&self) -> usize {
        self.state().taken.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Records that this connection has shown the token: it is not evicted any more.
    pub(crate) fn mark_authenticated(&self) {
        if let Some(holder) = self.slots.state().taken.get_mut(&self.id) {
            holder.is_authenticated = true;
        }
    }

    /// Resolves when the slot was given to another connection.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.state().taken.remove(&self.id);
        self.slots.0.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_leave_first_and_the_known_stay() {
        let slots = ConnectionSlots::new(2);
        let (known, stranger) = (slots.try_acquire().unwrap(), slots.try_acquire().unwrap());
        known.mark_authenticated();
        let third = slots.try_acquire().unwrap();
        stranger.evicted().await;
        assert_eq!(slots.count(), 2);
        drop(stranger);
        assert_eq!(slots.count(), 2, "its slot belongs to another connection already");
        third.mark_authenticated();
        assert!(slots.try_acquire().is_none(), "authenticated connections keep their slots");
        let waiting = tokio::spawn({
            let slots = slots.clone();
            async move { slots.acquire().await.id }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(known);
        assert!(waiting.await.is_ok(), "the next one gets a released slot");
    }
}
