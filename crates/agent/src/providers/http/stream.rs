//! Reads an answer that comes as an event stream.

use super::endpoint::Endpoint;
use super::wire_format::{Assembler, Progress, malformed};
use crate::providers::provider::{Answer, ErrorClass, ProviderError, Sink};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::once;
use reqwest::Response;
use sse_stream::SseStream;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest that one answer may keep coming, however slowly, in multiples of `request_timeout`.
const STREAM_TIMEOUTS: u32 = 15;

/// How long a complete answer is waited for to say that it is over: only the usage is still
/// missing.
const USAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest line: a tool call may carry a whole file.
const MAX_LINE_BYTES: usize = 4 << 20;

/// Reads an event stream to its end. An answer that did not say that it was complete is an error,
/// whatever of it arrived.
pub(super) async fn read<A: Assembler>(
    endpoint: &Endpoint,
    response: Response,
    mut assembler: A,
    sink: &mut dyn Sink,
) -> Result<Answer, ProviderError> {
    let until = Instant::now() + endpoint.timeout.saturating_mul(STREAM_TIMEOUTS);
    // Comments keep a connection open; only events with data bring the answer further.
    let mut idle_until = Instant::now() + endpoint.timeout;
    let has_ended = AtomicBool::new(false);
    let mut line = 0;
    let chunks = endpoint.chunks(response).map(|chunk| {
        let chunk = chunk?;
        line = match chunk.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => chunk.len() - end - 1,
            None => line + chunk.len(),
        };
        if line > MAX_LINE_BYTES {
            return Err(malformed(format_args!(
                "a line of the stream is longer than {MAX_LINE_BYTES} bytes"
            )));
        }
        Ok(chunk)
    });
    // Completes a last event that lacks its blank line.
    let end = once(async {
        has_ended.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    });
    let mut events = pin!(SseStream::from_bytes_stream(chunks.chain(end)));
    let mut progress = Progress::Open;
    loop {
        let until = match progress {
            Progress::Open => until.min(idle_until),
            _ => Instant::now() + USAGE_TIMEOUT,
        };
        let event = match timeout_at(until, events.next()).await {
            Ok(Some(Ok(event))) => event,
            Ok(None) => break,
            // Only the usage can be missing.
            _ if progress == Progress::Complete => return assembler.finish(),
            Ok(Some(Err(sse_stream::Error::Body(error)))) => {
                return Err(match error.downcast::<ProviderError>() {
                    Ok(error) => *error,
                    Err(error) => malformed(error),
                });
            }
            Ok(Some(Err(error))) => return Err(malformed(error)),
            Err(_) => return Err(endpoint.timed_out()),
        };
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
        idle_until = Instant::now() + endpoint.timeout;
        let taken = assembler.event(&data, sink);
        let taken = if has_ended.load(Ordering::Relaxed) { taken.map_err(cut_off) } else { taken };
        progress = taken?.max(progress);
        if progress == Progress::Ended {
            return assembler.finish();
        }
    }
    if progress == Progress::Open { Err(unfinished()) } else { assembler.finish() }
}

/// The error of the last event of a stream that ended without saying so.
fn cut_off(error: ProviderError) -> ProviderError {
    match error.class {
        ErrorClass::Malformed => unfinished(),
        // What the provider says itself is better than a guess.
        _ => error,
    }
}

fn unfinished() -> ProviderError {
    ProviderError::new(ErrorClass::Network, "the provider's answer was cut off before its end")
}
