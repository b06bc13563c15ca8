//! Places for connections: bounded, and strangers leave first.
//!
//! Invariant: there are never more connections than places; one that has shown the token is not sent away for one that has not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The places. Copies are the same.
#[derive(Clone)]
pub(super) struct Places(Arc<Mutex<State>>);

struct State {
    most: usize,
    taken: BTreeMap<u64, Seat>,
    last: u64,
}

struct Seat {
    is_known: bool,
    leave: Arc<Notify>,
}

/// One connection's place; dropped, it is free.
pub(super) struct Place {
    places: Places,
    id: u64,
    leave: Arc<Notify>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(State { most, taken: BTreeMap::new(), last: 0 })))
    }

    /// A place for somebody new. When all are taken, the stranger who came first leaves; `None` when nobody is one.
    pub(super) fn take(&self) -> Option<Arc<Place>> {
        let mut state = self.state();
        if state.taken.len() >= state.most {
            let stranger = state.taken.iter().find(|(_, seat)| !seat.is_known).map(|(id, _)| *id)?;
            // Its place is free at once; the connection itself ends when it hears.
            if let Some(seat) = state.taken.remove(&stranger) {
                seat.leave.notify_one();
            }
        }
        state.last += 1;
        let (id, leave) = (state.last, Arc::new(Notify::new()));
        state.taken.insert(id, Seat { is_known: false, leave: Arc::clone(&leave) });
        Some(Arc::new(Place { places: self.clone(), id, leave }))
    }

    /// How many are taken.
    pub(super) fn count(&self) -> usize {
        self.state().taken.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whoever sits here has shown the token.
    pub(super) fn is_known(&self) {
        if let Some(seat) = self.places.state().taken.get_mut(&self.id) {
            seat.is_known = true;
        }
    }

    /// Waits until the place is needed for somebody else.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.state().taken.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_leave_first_and_the_known_stay() {
        let places = Places::new(2);
        let (known, stranger) = (places.take().unwrap(), places.take().unwrap());
        known.is_known();
        let third = places.take().unwrap();
        stranger.asked_to_leave().await;
        assert_eq!(places.count(), 2);
        drop(stranger);
        assert_eq!(places.count(), 2, "its place is another's already");
        third.is_known();
        assert!(places.take().is_none(), "the known keep their places");
        drop(known);
        assert!(places.take().is_some());
    }
}
