//! The requests of one connection: those being handled and those that wait.

use rmcp::model::{ClientJsonRpcMessage, RequestId};
use std::collections::{HashSet, VecDeque};

/// Requests handled at once. The others wait here, so that a cancellation is still read.
const MAX_ACTIVE: usize = 64;

/// Requests that may wait.
const MAX_WAITING: usize = 1024;

/// Bytes that the waiting requests may have on the wire.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    active: HashSet<RequestId>,
    waiting: VecDeque<(RequestId, usize, ClientJsonRpcMessage)>,
    waiting_bytes: usize,
}

/// What happens to a request that arrived.
#[derive(Debug)]
pub(super) enum Enqueued {
    /// Handle it now.
    Start(Box<ClientJsonRpcMessage>),
    /// It waits.
    Waiting,
    /// The queue is full.
    Full,
    /// A request with the same id is active or waiting.
    DuplicateId,
}

impl RequestQueue {
    /// Adds a request of `bytes` bytes.
    pub(super) fn push(&mut self, id: &RequestId, bytes: usize, message: ClientJsonRpcMessage) -> Enqueued {
        if self.active.contains(id) || self.waiting.iter().any(|(waiting, ..)| waiting == id) {
            return Enqueued::DuplicateId;
        }
        if self.active.len() < MAX_ACTIVE && self.waiting.is_empty() {
            self.active.insert(id.clone());
            return Enqueued::Start(Box::new(message));
        }
        if self.waiting.len() >= MAX_WAITING || self.waiting_bytes + bytes > MAX_WAITING_BYTES {
            return Enqueued::Full;
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back((id.clone(), bytes, message));
        Enqueued::Waiting
    }

    /// Activates the next waiting request, if one may start.
    pub(super) fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        if self.active.len() >= MAX_ACTIVE {
            return None;
        }
        let (id, bytes, message) = self.waiting.pop_front()?;
        self.waiting_bytes -= bytes;
        self.active.insert(id);
        Some(message)
    }

    /// Removes an answered request.
    pub(super) fn finish(&mut self, id: &RequestId) {
        self.active.remove(id);
    }

    /// Removes a cancelled request.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        self.active.remove(id);
        let at = self.waiting.iter().position(|(waiting, ..)| waiting == id);
        if let Some((_, bytes, _)) = at.and_then(|at| self.waiting.remove(at)) {
            self.waiting_bytes -= bytes;
        }
    }

    /// Whether no request is active or waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ClientRequest, PingRequest};

    fn ping(id: &RequestId) -> ClientJsonRpcMessage {
        ClientJsonRpcMessage::request(ClientRequest::PingRequest(PingRequest::default()), id.clone())
    }

    #[test]
    fn an_id_is_in_use_until_it_is_answered_or_cancelled() {
        for (why, end) in [
            ("answered", RequestQueue::finish as fn(&mut RequestQueue, &RequestId)),
            ("cancelled", RequestQueue::cancel),
        ] {
            let (mut queue, id) = (RequestQueue::default(), RequestId::Number(1));
            assert!(matches!(queue.push(&id, 1, ping(&id)), Enqueued::Start(_)), "{why}");
            assert!(!queue.is_empty(), "{why}");
            assert!(matches!(queue.push(&id, 1, ping(&id)), Enqueued::DuplicateId), "{why}: twice");
            end(&mut queue, &id);
            assert!(queue.is_empty(), "{why}");
            assert!(matches!(queue.push(&id, 1, ping(&id)), Enqueued::Start(_)), "{why}: free again");
        }
    }

    #[test]
    fn waiting_requests_start_in_order_and_are_bounded() {
        let mut queue = RequestQueue::default();
        let ids: Vec<RequestId> = (0..=MAX_ACTIVE as i64).map(RequestId::Number).collect();
        for id in &ids[..MAX_ACTIVE] {
            assert!(matches!(queue.push(id, 1, ping(id)), Enqueued::Start(_)));
        }
        let (first, late) = (&ids[MAX_ACTIVE], RequestId::String("late".into()));
        assert!(matches!(queue.push(first, 1, ping(first)), Enqueued::Waiting));
        assert!(queue.next().is_none(), "all slots are taken");
        queue.finish(&ids[0]);
        assert!(matches!(queue.push(&late, 1, ping(&late)), Enqueued::Waiting), "it does not overtake");
        let started = queue.next().and_then(|message| message.into_request());
        assert_eq!(started.map(|(_, id)| id).as_ref(), Some(first));
        queue.cancel(&late);
        queue.finish(&ids[1]);
        assert!(queue.next().is_none(), "a cancelled request does not start");
        let big = RequestId::String("big".into());
        queue.push(&RequestId::String("a".into()), 1, ping(&big));
        queue.push(&RequestId::String("b".into()), 1, ping(&big));
        assert!(matches!(queue.push(&big, MAX_WAITING_BYTES, ping(&big)), Enqueued::Full));
    }
}
