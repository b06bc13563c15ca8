//! The accept loop: HTTP/1 connections within [`ConnectionSlots`] and timeouts.

use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::timeouts::{CLIENT_TIMEOUT, IdleTimeout};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// The largest request head.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// How long a connection may stay open after shutdown began.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(12);

/// Pause after a failed `accept`, such as one for lack of descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// What happens to a new connection when every slot belongs to an authenticated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It is closed.
    Close,
    /// It waits for a slot, and the later ones behind it.
    Wait,
}

/// Serves `handler` on every connection until `shutdown`, then lets the open ones finish.
pub(crate) async fn serve<H, F, B>(
    listener: TcpListener,
    slots: ConnectionSlots,
    when_full: WhenFull,
    shutdown: CancellationToken,
    handler: H,
) where
    H: Fn(Request<Incoming>, SocketAddr, Arc<ConnectionSlot>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let accept_all = async {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    let slot = match when_full {
                        WhenFull::Close => slots.try_acquire(),
                        WhenFull::Wait => Some(slots.acquire().await),
                    };
                    if let Some(slot) = slot {
                        let connection =
                            serve_connection(stream, address, slot, shutdown.clone(), handler.clone());
                        tokio::spawn(connection);
                    }
                    // An evicted connection closes its descriptor before the next one is accepted.
                    tokio::task::yield_now().await;
                }
                Err(why) => {
                    tracing::warn!(target: "http", error = %why, "Could not accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = accept_all => {}
    }
}

async fn serve_connection<H, F, B>(
    stream: TcpStream,
    address: SocketAddr,
    slot: ConnectionSlot,
    shutdown: CancellationToken,
    handler: H,
) where
    H: Fn(Request<Incoming>, SocketAddr, Arc<ConnectionSlot>) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let slot = Arc::new(slot);
    let own_slot = Arc::clone(&slot);
    let service = service_fn(move |request| {
        let response = handler(request, address, Arc::clone(&own_slot));
        async move { Ok::<_, Infallible>(response.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CLIENT_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(IdleTimeout::new(stream)), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = slot.evicted() => return,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connection.as_mut()).await;
            return;
        }
    };
    if let Err(why) = ended {
        tracing::debug!(target: "http", error = %why, "A connection ended early");
    }
}
