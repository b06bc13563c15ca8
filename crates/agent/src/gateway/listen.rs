//! Listening: connections in, requests to the table of routes.
//!
//! Invariant: the number of connections is bounded, and each is held to its time.

use super::gate::Gate;
use super::places::Place;
use super::routes;
use crate::entrance::{Flowing, PATIENCE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// How long a connection may go on when the gateway ends: as long as turns have to end, and no longer.
const FAREWELL: Duration = Duration::from_secs(12);

/// Serves everyone, until the gateway ends.
pub async fn listen(gate: Arc<Gate>, listener: TcpListener) {
    loop {
        let accepted = tokio::select! {
            () = gate.ended() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                // Nobody leaves for a newcomer when all are known: the newcomer does.
                if let Some(place) = gate.places.take() {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(attend(Arc::clone(&gate), stream, from, place));
                }
                // Whoever left for this one must be gone before the next comes: a flood is accepted without a pause.
                tokio::task::yield_now().await;
            }
            // A client that is gone again, or a moment without descriptors, is no reason to stop listening.
            Err(why) => {
                tracing::warn!(target: "gateway", error = %why, "Could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn attend(gate: Arc<Gate>, stream: TcpStream, from: SocketAddr, place: Arc<Place>) {
    let (theirs, at) = (Arc::clone(&gate), Arc::clone(&place));
    let answer = service_fn(move |request| {
        let (gate, place) = (Arc::clone(&theirs), Arc::clone(&at));
        async move {
            let answer = routes::answer(&gate, request, from, &place).await;
            gate.counts.answered(answer.status());
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(Flowing::new(stream)), answer);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = place.asked_to_leave() => return,
        () = gate.ended() => {
            connection.as_mut().graceful_shutdown();
            // Turns are waited for elsewhere; this is for the last bytes.
            let _late = tokio::time::timeout(FAREWELL, connection.as_mut()).await;
            return;
        }
    };
    if let Err(why) = ended {
        tracing::debug!(target: "gateway", error = %why, "A connection ended early");
    }
}
