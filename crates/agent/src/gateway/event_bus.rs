//! Server-sent events for the clients of `/api/events`: ledger records and what happens in turns.
//!
//! Events are sent in batches. The first event after a pause is sent at once; later ones are
//! collected until the next batch is due and serialised once for all subscribers, so that a busy
//! gateway costs each subscriber a few writes a second and not one for every event.
//!
//! Publishing never waits. A subscriber that is too slow is disconnected.

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};

/// Batches that a slow subscriber may be behind.
const MAX_BATCHES_BEHIND: usize = 128;

/// The shortest time between two batches.
const BATCH_INTERVAL: Duration = Duration::from_millis(50);

/// A batch of this size is sent before its time.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// Events that are sent together.
#[derive(Debug, Default)]
pub(super) struct EventBatch {
    /// The events as they go over the wire.
    frames: Bytes,
    /// For each event, the number of its record, if it is one, and the offset of its end.
    ends: Vec<(Option<u64>, usize)>,
}

/// Broadcasts events to all subscribers.
#[derive(Debug)]
pub(super) struct EventBus {
    batches: broadcast::Sender<Arc<EventBatch>>,
    pending: Mutex<PendingBatch>,
    /// Notified when an event is pending.
    added: Notify,
}

#[derive(Debug, Default)]
struct PendingBatch {
    frames: BytesMut,
    ends: Vec<(Option<u64>, usize)>,
}

impl Default for EventBus {
    fn default() -> Self {
        Self {
            batches: broadcast::Sender::new(MAX_BATCHES_BEHIND),
            pending: Mutex::default(),
            added: Notify::new(),
        }
    }
}

impl EventBus {
    /// Publishes a ledger record, given as its line.
    pub(super) fn publish_record(&self, seq: u64, line: &str) {
        if self.subscribers() > 0 {
            self.add(Some(seq), &record_frame(seq, line));
        }
    }

    /// Publishes an event of this kind.
    pub(super) fn publish(&self, kind: &str, data: &Value) {
        if self.subscribers() > 0 {
            self.add(None, &format!("event: {kind}\ndata: {data}\n\n"));
        }
    }

    /// Sends the pending batches until it is dropped.
    pub(super) async fn run(&self) {
        loop {
            self.added.notified().await;
            self.send(&mut self.pending());
            tokio::time::sleep(BATCH_INTERVAL).await;
        }
    }

    /// Subscribes to the events from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<EventBatch>> {
        self.batches.subscribe()
    }

    /// The number of subscribers.
    pub(super) fn subscribers(&self) -> usize {
        self.batches.receiver_count()
    }

    fn add(&self, seq: Option<u64>, frame: &str) {
        let mut pending = self.pending();
        pending.frames.extend_from_slice(frame.as_bytes());
        let end = pending.frames.len();
        pending.ends.push((seq, end));
        if end >= MAX_BATCH_BYTES {
            self.send(&mut pending);
        } else {
            self.added.notify_one();
        }
    }

    fn send(&self, pending: &mut PendingBatch) {
        let PendingBatch { frames, ends } = std::mem::take(pending);
        if !ends.is_empty() {
            let _ = self.batches.send(Arc::new(EventBatch { frames: frames.freeze(), ends }));
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingBatch> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventBatch {
    /// The frames, without records up to number `sent`.
    pub(super) fn after(&self, sent: u64) -> Bytes {
        let is_sent = |seq: &Option<u64>| seq.is_some_and(|seq| seq <= sent);
        if !self.ends.iter().any(|(seq, _)| is_sent(seq)) {
            return self.frames.clone();
        }
        let (mut rest, mut start) = (BytesMut::new(), 0);
        for (seq, end) in &self.ends {
            if !is_sent(seq) {
                rest.extend_from_slice(&self.frames[start..*end]);
            }
            start = *end;
        }
        rest.freeze()
    }
}

/// A record as an event. A line of the ledger contains no line feed.
pub(super) fn record_frame(seq: u64, line: &str) -> String {
    format!("id: {seq}\nevent: record\ndata: {line}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn next(batches: &mut broadcast::Receiver<Arc<EventBatch>>, sent: u64) -> String {
        String::from_utf8(batches.recv().await.unwrap().after(sent).to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_piece_goes_out_at_once_and_the_rest_together() {
        let bus = Arc::new(EventBus::default());
        bus.publish("turn", &json!({"n": 0}));
        let mut batches = bus.subscribe();
        let running = Arc::clone(&bus);
        tokio::spawn(async move { running.run().await });
        let began = tokio::time::Instant::now();
        bus.publish("turn", &json!({"n": 1}));
        assert_eq!(
            next(&mut batches, 0).await,
            "event: turn\ndata: {\"n\":1}\n\n",
            "the one before had no subscriber"
        );
        assert_eq!(began.elapsed(), Duration::ZERO);
        bus.publish_record(7, "{}");
        bus.publish_record(8, "{}");
        bus.publish("turn", &json!({"n": 2}));
        let eight = record_frame(8, "{}");
        assert_eq!(
            next(&mut batches, 7).await,
            format!("{eight}event: turn\ndata: {{\"n\":2}}\n\n"),
            "7 was sent"
        );
        assert_eq!(began.elapsed(), BATCH_INTERVAL);
        bus.publish_record(9, &"9".repeat(MAX_BATCH_BYTES));
        bus.publish_record(10, "{}");
        assert!(next(&mut batches, 8).await.starts_with("id: 9\n"), "a large one does not wait");
        assert_eq!(began.elapsed(), BATCH_INTERVAL);
        assert_eq!(next(&mut batches, 0).await, record_frame(10, "{}"));
    }
}
