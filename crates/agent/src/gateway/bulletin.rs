//! News for whoever watches: records of the ledger, and what happens in turns.
//!
//! Invariant: telling news never waits; whoever is too slow to hear it is cut off, and knows.

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::broadcast;

/// How much news waits for a slow listener.
const WAITING: usize = 1024;

/// One piece of news, as it goes over the wire.
#[derive(Debug, Clone)]
pub(super) struct News {
    /// The number of a record.
    pub(super) seq: Option<u64>,
    /// An event of the stream.
    pub(super) frame: Bytes,
}

/// Where news is put up.
#[derive(Debug)]
pub(super) struct Bulletin(broadcast::Sender<News>);

impl Default for Bulletin {
    fn default() -> Self {
        Self(broadcast::Sender::new(WAITING))
    }
}

impl Bulletin {
    /// Puts up a record of the ledger, as its line has it.
    pub(super) fn record(&self, seq: u64, line: &str) {
        if self.has_listeners() {
            let _nobody = self.0.send(News { seq: Some(seq), frame: record_frame(seq, line) });
        }
    }

    /// Puts up something else.
    pub(super) fn tell(&self, kind: &str, what: &Value) {
        if self.has_listeners() {
            let frame = Bytes::from(format!("event: {kind}\ndata: {what}\n\n"));
            let _nobody = self.0.send(News { seq: None, frame });
        }
    }

    /// Listens from now on.
    pub(super) fn listen(&self) -> broadcast::Receiver<News> {
        self.0.subscribe()
    }

    /// How many listen.
    pub(super) fn listeners(&self) -> usize {
        self.0.receiver_count()
    }

    fn has_listeners(&self) -> bool {
        self.listeners() > 0
    }
}

/// A record as an event; a line of the ledger has no line feed in it.
pub(super) fn record_frame(seq: u64, line: &str) -> Bytes {
    Bytes::from(format!("id: {seq}\nevent: record\ndata: {line}\n\n"))
}
