//! `GET /api/events`: the live stream. Each record is sent once; a client that falls behind is told
//! so and disconnected. The stream ends with its token.

use super::access::Principal;
use super::event_bus::{EventBatch, record_frame};
use super::response::{self, HttpResponse};
use super::server::Gateway;
use super::{ledger_tail, request};
use crate::tokens::Scope;
use bytes::Bytes;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// Batches that may be buffered for one client.
const CLIENT_BUFFER: usize = 4;

/// The most past records that a client can ask for.
const MAX_PAST_RECORDS: u64 = 1000;

/// Interval of comments that keep an idle stream open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Opens the stream. `last=N` sends the last records first, `Last-Event-ID` those that were missed.
pub(super) async fn stream(
    gateway: &Arc<Gateway>,
    query: Option<&str>,
    headers: &HeaderMap,
    principal: Principal,
) -> HttpResponse {
    // Before the past is read, so that no record falls between the two.
    let batches = gateway.events.subscribe();
    let since = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let default = if since.is_some() { MAX_PAST_RECORDS } else { 0 };
    let count = request::query_number(query, "last").map_or(default, |n| n.min(MAX_PAST_RECORDS));
    let reader = Arc::clone(gateway);
    let past = match count {
        0 => Vec::new(),
        count => tokio::task::spawn_blocking(move || ledger_tail::last(&reader, count, since))
            .await
            .unwrap_or_default(),
    };
    let (client, chunks) = mpsc::channel(CLIENT_BUFFER);
    let gateway = Arc::clone(gateway);
    tokio::spawn(async move {
        tokio::select! {
            () = gateway.shutdown.cancelled() => {}
            () = gateway.access.revoked(&principal, Scope::Watch) => {}
            () = forward(past, batches, &client) => {}
        }
    });
    response::event_stream(chunks, ())
}

/// Ends when the client is gone or too slow.
async fn forward(
    past: Vec<(u64, String)>,
    mut batches: broadcast::Receiver<Arc<EventBatch>>,
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
    let mut keep_alive = interval(KEEP_ALIVE_INTERVAL);
    keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let frame = tokio::select! {
            received = batches.recv() => match received {
                Ok(batch) => batch.after(sent),
                Err(RecvError::Closed) => return,
                Err(RecvError::Lagged(_)) => {
                    let _ = client.try_send(Bytes::from_static(b"event: behind\ndata: {}\n\n"));
                    return;
                }
            },
            _ = keep_alive.tick() => Bytes::from_static(b": pulse\n\n"),
            () = client.closed() => return,
        };
        if !frame.is_empty() && client.send(frame).await.is_err() {
            return;
        }
    }
}
