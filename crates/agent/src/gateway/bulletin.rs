//! News for whoever watches: records of the ledger, and what happens in turns.
//!
//! News goes out in editions. The first piece after a quiet moment goes out at once; what follows is collected until the
//! next edition is due, and made into bytes once for everybody, so that a thousand who watch a busy gateway cost a few
//! writes a second each, and not one for every piece.
//!
//! Invariant: telling news never waits; whoever is too slow to hear it is cut off, and knows.

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};

/// How many editions wait for a slow listener.
const WAITING: usize = 128;

/// How soon one edition may follow another.
const PACE: Duration = Duration::from_millis(50);

/// An edition of this size does not wait for its time.
const LARGEST: usize = 64 << 10;

/// What goes out at once.
#[derive(Debug, Default)]
pub(super) struct Edition {
    /// Events of the stream, as they go over the wire.
    frames: Bytes,
    /// Of each event the number of its record, if it is one, and where it ends.
    pieces: Vec<(Option<u64>, usize)>,
}

/// Where news is put up.
#[derive(Debug)]
pub(super) struct Bulletin {
    out: broadcast::Sender<Arc<Edition>>,
    next: Mutex<Draft>,
    /// There is something to go out.
    told: Notify,
}

/// What the next edition has so far.
#[derive(Debug, Default)]
struct Draft {
    frames: BytesMut,
    pieces: Vec<(Option<u64>, usize)>,
}

impl Default for Bulletin {
    fn default() -> Self {
        Self { out: broadcast::Sender::new(WAITING), next: Mutex::default(), told: Notify::new() }
    }
}

impl Bulletin {
    /// Puts up a record of the ledger, as its line has it.
    pub(super) fn record(&self, seq: u64, line: &str) {
        if self.has_listeners() {
            self.add(Some(seq), &record_frame(seq, line));
        }
    }

    /// Puts up something else.
    pub(super) fn tell(&self, kind: &str, what: &Value) {
        if self.has_listeners() {
            self.add(None, &format!("event: {kind}\ndata: {what}\n\n"));
        }
    }

    /// Brings the editions out, until it is dropped.
    pub(super) async fn publish(&self) {
        loop {
            self.told.notified().await;
            self.bring_out(&mut self.draft());
            tokio::time::sleep(PACE).await;
        }
    }

    /// Listens from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<Arc<Edition>> {
        self.out.subscribe()
    }

    /// How many listen.
    pub(super) fn listeners(&self) -> usize {
        self.out.receiver_count()
    }

    fn has_listeners(&self) -> bool {
        self.listeners() > 0
    }

    fn add(&self, seq: Option<u64>, frame: &str) {
        let mut draft = self.draft();
        draft.frames.extend_from_slice(frame.as_bytes());
        let end = draft.frames.len();
        draft.pieces.push((seq, end));
        if end >= LARGEST {
            self.bring_out(&mut draft);
        } else {
            self.told.notify_one();
        }
    }

    fn bring_out(&self, draft: &mut Draft) {
        let Draft { frames, pieces } = std::mem::take(draft);
        if !pieces.is_empty() {
            let _nobody = self.out.send(Arc::new(Edition { frames: frames.freeze(), pieces }));
        }
    }

    fn draft(&self) -> MutexGuard<'_, Draft> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Edition {
    /// All of it but the records up to this one, which were sent already.
    pub(super) fn after(&self, sent: u64) -> Bytes {
        let is_sent = |seq: &Option<u64>| seq.is_some_and(|seq| seq <= sent);
        if !self.pieces.iter().any(|(seq, _)| is_sent(seq)) {
            return self.frames.clone();
        }
        let (mut rest, mut start) = (BytesMut::new(), 0);
        for (seq, end) in &self.pieces {
            if !is_sent(seq) {
                rest.extend_from_slice(&self.frames[start..*end]);
            }
            start = *end;
        }
        rest.freeze()
    }
}

/// A record as an event; a line of the ledger has no line feed in it.
pub(super) fn record_frame(seq: u64, line: &str) -> String {
    format!("id: {seq}\nevent: record\ndata: {line}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn next(news: &mut broadcast::Receiver<Arc<Edition>>, sent: u64) -> String {
        String::from_utf8(news.recv().await.unwrap().after(sent).to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_piece_goes_out_at_once_and_the_rest_together() {
        let bulletin = Arc::new(Bulletin::default());
        bulletin.tell("turn", &json!({"n": 0}));
        let mut news = bulletin.listen();
        let publishing = Arc::clone(&bulletin);
        tokio::spawn(async move { publishing.publish().await });
        let began = tokio::time::Instant::now();
        bulletin.tell("turn", &json!({"n": 1}));
        assert_eq!(
            next(&mut news, 0).await,
            "event: turn\ndata: {\"n\":1}\n\n",
            "nobody heard the one before"
        );
        assert_eq!(began.elapsed(), Duration::ZERO);
        bulletin.record(7, "{}");
        bulletin.record(8, "{}");
        bulletin.tell("turn", &json!({"n": 2}));
        let eight = record_frame(8, "{}");
        assert_eq!(
            next(&mut news, 7).await,
            format!("{eight}event: turn\ndata: {{\"n\":2}}\n\n"),
            "7 was sent"
        );
        assert_eq!(began.elapsed(), PACE);
        bulletin.record(9, &"9".repeat(LARGEST));
        bulletin.record(10, "{}");
        assert!(next(&mut news, 8).await.starts_with("id: 9\n"), "a large one does not wait");
        assert_eq!(began.elapsed(), PACE);
        assert_eq!(next(&mut news, 0).await, record_frame(10, "{}"));
    }
}
