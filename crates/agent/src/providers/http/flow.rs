//! Reading an answer while it comes.
//!
//! Invariant: an answer that did not say it was complete is an error, whatever of it arrived.

use super::dialect::{Assembler, Progress};
use super::peer::Peer;
use super::sse::Events;
use crate::providers::provider::{Answer, Class, ProviderError, Sink};
use reqwest::Response;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The longest that one answer may keep coming: a peer that drips is not waited for for ever.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a complete answer is waited for to say that it is over: only the usage is still missing.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Reads an event stream to its end.
pub(super) async fn read<A: Assembler>(
    peer: &Peer,
    response: &mut Response,
    mut assembler: A,
    sink: &mut dyn Sink,
) -> Result<Answer, ProviderError> {
    let until = Instant::now() + LONGEST.max(peer.timeout);
    let (mut events, mut total, mut progress) = (Events::default(), 0, Progress::Open);
    loop {
        let patience = if progress == Progress::Open { peer.timeout } else { LAST_WORDS.min(peer.timeout) };
        let waiting = timeout(patience, peer.chunk(response, &mut total));
        let chunk = match timeout_at(until, waiting).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(_)) | Err(_) => Err(peer.silent()),
        };
        match chunk {
            Ok(Some(bytes)) => events.push(&bytes)?,
            Ok(None) => break,
            // Only the usage can be missing.
            Err(_) if progress == Progress::Complete => return assembler.finish(),
            Err(why) => return Err(why),
        }
        while let Some(event) = events.pop() {
            progress = assembler.event(&event, sink)?.max(progress);
            if progress == Progress::Over {
                return assembler.finish();
            }
        }
    }
    if let Some(rest) = events.rest()? {
        progress = assembler.event(&rest, sink).map_err(|why| cut_off(Some(why)))?.max(progress);
    }
    if progress == Progress::Open { Err(cut_off(None)) } else { assembler.finish() }
}

fn cut_off(why: Option<ProviderError>) -> ProviderError {
    match why {
        // What the peer says itself is better than what we guess.
        Some(why) if why.class != Class::Malformed => why,
        _ => ProviderError::new(Class::Network, "the provider's answer was cut off before its end"),
    }
}
