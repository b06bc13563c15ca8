//! Requests on the way: which are being worked on, and which wait their turn.
//!
//! Invariant: an identifier is on the way once; what waits is bounded in number and bytes.

use rmcp::model::{ClientJsonRpcMessage, RequestId};
use std::collections::{HashSet, VecDeque};

/// How many requests are worked on at once; beyond this they wait, so that a cancellation is still heard.
const MOST_WORKED_ON: usize = 64;

/// How many requests may wait.
const MOST_WAITING: usize = 1024;

/// How much they may be, as they were written.
const MOST_BYTES: usize = 16 << 20;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    worked_on: HashSet<RequestId>,
    waiting: VecDeque<(RequestId, usize, ClientJsonRpcMessage)>,
    bytes: usize,
    /// Whether somebody waits for the last answer.
    is_ending: bool,
}

/// What becomes of a request that arrives.
#[derive(Debug)]
pub(super) enum Arrival {
    /// It is worked on now.
    Go(Box<ClientJsonRpcMessage>),
    /// It waits.
    Waits,
    /// There is no room.
    Full,
    /// Another one of that name is on the way.
    Twice,
}

impl Traffic {
    /// Takes a request in, `bytes` long.
    pub(super) fn arrive(&mut self, id: &RequestId, bytes: usize, message: ClientJsonRpcMessage) -> Arrival {
        if self.worked_on.contains(id) || self.waiting.iter().any(|(waiting, ..)| waiting == id) {
            return Arrival::Twice;
        }
        if self.worked_on.len() < MOST_WORKED_ON && self.waiting.is_empty() {
            self.worked_on.insert(id.clone());
            return Arrival::Go(Box::new(message));
        }
        if self.waiting.len() >= MOST_WAITING || self.bytes + bytes > MOST_BYTES {
            return Arrival::Full;
        }
        self.bytes += bytes;
        self.waiting.push_back((id.clone(), bytes, message));
        Arrival::Waits
    }

    /// Takes a request in that is answered by whoever read it; not when others wait, or one of that name is on the way.
    pub(super) fn begin(&mut self, id: &RequestId) -> bool {
        self.waiting.is_empty() && self.worked_on.len() < MOST_WORKED_ON && self.worked_on.insert(id.clone())
    }

    /// Whether it was neither answered nor cancelled yet.
    pub(super) fn is_worked_on(&self, id: &RequestId) -> bool {
        self.worked_on.contains(id)
    }

    /// The next one whose turn it is.
    pub(super) fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        if self.worked_on.len() >= MOST_WORKED_ON {
            return None;
        }
        let (id, bytes, message) = self.waiting.pop_front()?;
        self.bytes -= bytes;
        self.worked_on.insert(id);
        Some(message)
    }

    /// It was answered.
    pub(super) fn answered(&mut self, id: &RequestId) {
        self.worked_on.remove(id);
    }

    /// The client wants it no more.
    pub(super) fn cancelled(&mut self, id: &RequestId) {
        self.worked_on.remove(id);
        let at = self.waiting.iter().position(|(waiting, ..)| waiting == id);
        if let Some((_, bytes, _)) = at.and_then(|at| self.waiting.remove(at)) {
            self.bytes -= bytes;
        }
    }

    /// The client says nothing more.
    pub(super) fn end(&mut self) {
        self.is_ending = true;
    }

    /// Whether an answer changes anything for others.
    pub(super) fn is_watched(&self) -> bool {
        self.is_ending || !self.waiting.is_empty()
    }

    /// Whether nothing is on the way.
    pub(super) fn is_quiet(&self) -> bool {
        self.worked_on.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ClientRequest, PingRequest};

    #[test]
    fn a_name_is_on_the_way_once_and_until_it_is_answered_or_cancelled() {
        let message = |id: &RequestId| {
            ClientJsonRpcMessage::request(ClientRequest::PingRequest(PingRequest::default()), id.clone())
        };
        for (why, end) in [
            ("answered", Traffic::answered as fn(&mut Traffic, &RequestId)),
            ("cancelled", Traffic::cancelled),
        ] {
            let (mut traffic, id) = (Traffic::default(), RequestId::Number(1));
            assert!(traffic.begin(&id) && traffic.is_worked_on(&id) && !traffic.is_quiet(), "{why}");
            assert!(!traffic.begin(&id), "{why}: the quick way, twice");
            assert!(matches!(traffic.arrive(&id, 1, message(&id)), Arrival::Twice), "{why}: the other way");
            end(&mut traffic, &id);
            assert!(
                !traffic.is_worked_on(&id) && traffic.is_quiet() && traffic.begin(&id),
                "{why}: free again"
            );
        }
    }

    #[test]
    fn nobody_overtakes_those_who_wait() {
        let mut traffic = Traffic::default();
        let ids: Vec<RequestId> = (0..=MOST_WORKED_ON as i64).map(RequestId::Number).collect();
        let message = ClientJsonRpcMessage::request(
            ClientRequest::PingRequest(PingRequest::default()),
            RequestId::Number(0),
        );
        for id in &ids[..MOST_WORKED_ON] {
            assert!(matches!(traffic.arrive(id, 1, message.clone()), Arrival::Go(_)));
        }
        assert!(!traffic.is_watched(), "nobody waits yet");
        assert!(matches!(traffic.arrive(&ids[MOST_WORKED_ON], 1, message), Arrival::Waits));
        assert!(traffic.is_watched() && !traffic.begin(&RequestId::String("late".into())));
        traffic.answered(&ids[0]);
        assert!(!traffic.begin(&RequestId::String("late".into())), "its turn comes after theirs");
        assert!(traffic.next().is_some() && !traffic.is_watched());
    }
}
