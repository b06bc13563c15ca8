//! `GET /api/events`: the live stream.
//!
//! Invariant: a record is sent once; a client that falls behind is told so and cut off.

use super::answer::{self, Answer};
use super::bulletin::{Edition, record_frame};
use super::gate::Gate;
use super::{query, tail};
use bytes::Bytes;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// How many editions wait on their way to one client.
const ON_THE_WAY: usize = 4;

/// The most records of the past that a client gets.
const MOST: u64 = 1000;

/// How often a quiet stream shows that it lives.
const PULSE: Duration = Duration::from_secs(15);

/// Opens the stream: with `last=N` the last records first, with `Last-Event-ID` those that were missed.
pub(super) async fn stream(gate: &Arc<Gate>, query: Option<&str>, headers: &HeaderMap) -> Answer {
    // Heard before the past is read, so that nothing falls between.
    let news = gate.bulletin.listen();
    let since = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let count = query::number(query, "last").map_or(if since.is_some() { MOST } else { 0 }, |n| n.min(MOST));
    let reading = Arc::clone(gate);
    let past = match count {
        0 => Vec::new(),
        count => {
            tokio::task::spawn_blocking(move || tail::last(&reading, count, since)).await.unwrap_or_default()
        }
    };
    let (sender, pieces) = mpsc::channel(ON_THE_WAY);
    let gate = Arc::clone(gate);
    tokio::spawn(async move {
        tokio::select! {
            () = gate.ended() => {}
            () = pass_on(past, news, &sender) => {}
        }
    });
    answer::flowing(pieces, ())
}

/// Ends when the client is gone, or too slow.
async fn pass_on(
    past: Vec<(u64, String)>,
    mut news: broadcast::Receiver<Arc<Edition>>,
    client: &mpsc::Sender<Bytes>,
) {
    if client.send(Bytes::from_static(b": picoclaw\n\n")).await.is_err() {
        return;
    }
    let mut sent = 0;
    for (seq, line) in past {
        sent = seq;
        if client.send(record_frame(seq, &line).into()).await.is_err() {
            return;
        }
    }
    let mut pulse = interval(PULSE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let frame = tokio::select! {
            heard = news.recv() => match heard {
                Ok(edition) => edition.after(sent),
                Err(RecvError::Closed) => return,
                Err(RecvError::Lagged(_)) => {
                    let _gone = client.try_send(Bytes::from_static(b"event: behind\ndata: {}\n\n"));
                    return;
                }
            },
            _ = pulse.tick() => Bytes::from_static(b": pulse\n\n"),
            () = client.closed() => return,
        };
        if !frame.is_empty() && client.send(frame).await.is_err() {
            return;
        }
    }
}
