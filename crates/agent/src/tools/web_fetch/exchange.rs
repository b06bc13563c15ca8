//! One hop: a permit is spent for one request and one answer.
//!
//! Invariant: how it went is on the record, whatever the server did.

use super::channel::{Channel, Manner};
use super::content::{self, Kind};
use super::error::FetchError;
use super::http::{Head, request};
use picoclaw_policy::network::WebAddress;
use picoclaw_sandbox::outbound::{Bound, Connect, Outbound};
use picoclaw_sandbox::permit::Permit;
use rustls::ClientConfig;
use std::io::{BufReader, Write};
use std::sync::Arc;

/// What came back.
#[derive(Debug)]
pub(super) enum Answer {
    /// The page is elsewhere, at this address, which may be relative.
    Elsewhere { status: u16, location: String },
    /// A text.
    Page { status: u16, kind: Kind, charset: Option<String>, body: Vec<u8> },
}

/// What a hop needs beside its permit.
pub(super) struct Means<'m> {
    pub(super) outbound: &'m Outbound,
    pub(super) bound: &'m Bound,
    pub(super) limit: u64,
    pub(super) trust: &'m dyn Fn() -> Result<Arc<ClientConfig>, FetchError>,
}

/// Sends one request and reads its answer.
pub(super) fn exchange(
    permit: Permit<Connect>,
    address: &WebAddress,
    means: &Means<'_>,
) -> Result<Answer, FetchError> {
    let manner = Manner::of(address, means.trust)?;
    let line = means.outbound.open(permit, means.bound)?;
    let mut channel = BufReader::new(Channel::over(line, manner));
    let answer = converse(&mut channel, address, means.limit);
    let outcome = match &answer {
        Ok(Answer::Elsewhere { status, .. }) => format!("status {status}"),
        Ok(Answer::Page { status, body, .. }) => format!("status {status}, {} bytes", body.len()),
        Err(why) => why.to_string(),
    };
    channel.into_inner().end().close(&outcome);
    answer
}

fn converse(
    channel: &mut BufReader<Channel>,
    address: &WebAddress,
    limit: u64,
) -> Result<Answer, FetchError> {
    channel.get_mut().write_all(request(address).as_bytes())?;
    channel.get_mut().flush()?;
    let head = Head::read(channel)?;
    let status = head.status;
    if matches!(status, 301 | 302 | 303 | 307 | 308) && head.has("location") {
        let malformed = FetchError::NotHttp("where it redirects to is malformed");
        let location = head.text("location").ok_or(malformed)?.to_owned();
        return Ok(Answer::Elsewhere { status, location });
    }
    let (kind, charset) = content::told(head.text("content-type").unwrap_or_default())?;
    let body = head.body(channel, limit)?;
    Ok(Answer::Page { status, kind, charset, body })
}
