//! HTTP CONNECT through the operator's proxy.
//!
//! The target is an address that was judged, never a name: the proxy could resolve a name to
//! another host. Plain HTTP goes through a tunnel too, for the same reason.

use super::error::{OutboundError, wait_ended};
use crate::dial::{DnsLookup, Readiness, WaitLimit, dial};
use picoclaw_policy::network::{ProxyAddress, Resolution};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// The longest response head of a proxy.
const MAX_HEAD: usize = 8192;

/// Connects to the proxy and has it connect to `target`.
pub(super) fn open_tunnel(
    proxy: &ProxyAddress,
    dns: &DnsLookup,
    target: SocketAddr,
    limit: &WaitLimit,
) -> Result<TcpStream, OutboundError> {
    let mut last = OutboundError::Proxy(format!("`{}` has no address", proxy.host()));
    for ip in addresses(proxy, dns, limit)? {
        let address = SocketAddr::new(ip, proxy.port());
        match dial(address, limit) {
            Ok(stream) => return request_tunnel(proxy, stream, target, limit),
            Err(why) => last = OutboundError::dial(address, why),
        }
    }
    Err(last)
}

fn addresses(proxy: &ProxyAddress, dns: &DnsLookup, limit: &WaitLimit) -> Result<Vec<IpAddr>, OutboundError> {
    if let Some(ip) = proxy.literal() {
        return Ok(vec![ip]);
    }
    match dns.resolve(proxy.host(), limit)? {
        Resolution::Addresses(found) => Ok(found),
        Resolution::Failed(why) => Err(OutboundError::Proxy(format!("`{}`: {why}", proxy.host()))),
        Resolution::NotLookedUp => Ok(Vec::new()),
    }
}

fn request_tunnel(
    proxy: &ProxyAddress,
    stream: TcpStream,
    target: SocketAddr,
    limit: &WaitLimit,
) -> Result<TcpStream, OutboundError> {
    let authorization =
        proxy.authorization().map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    let head = exchange(&stream, request.as_bytes(), limit).map_err(|why| match wait_ended(&why) {
        Some(why) => OutboundError::Stopped(why),
        None => OutboundError::Proxy(why.to_string()),
    })?;
    let status: String = head.split(|b| *b == b' ').nth(1).map(ascii).unwrap_or_default();
    match (head.starts_with(b"HTTP/1."), status.as_str()) {
        (true, "200") => Ok(stream),
        (true, status) if status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit()) => {
            Err(OutboundError::Proxy(format!("the proxy answered {status} to a tunnel to `{target}`")))
        }
        _ => Err(OutboundError::Proxy("the response is not HTTP".to_owned())),
    }
}

fn ascii(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|b| char::from(*b)).collect()
}

/// Sends the request and reads the response head byte by byte: what follows belongs to the tunnel.
fn exchange(stream: &TcpStream, request: &[u8], limit: &WaitLimit) -> io::Result<Vec<u8>> {
    let mut sent = 0;
    while sent < request.len() {
        let rest = request.get(sent..).unwrap_or_default();
        sent += retry_until_ready(limit, stream, Readiness::Writable, |mut stream| stream.write(rest))?;
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if retry_until_ready(limit, stream, Readiness::Readable, |mut stream| stream.read(&mut byte))? == 0 {
            return Err(io::Error::other("the proxy closed the connection"));
        }
        head.extend(byte);
        if head.len() > MAX_HEAD {
            return Err(io::Error::other(format!("the response header exceeds {MAX_HEAD} bytes")));
        }
    }
    Ok(head)
}

/// Tries an operation on a non-blocking socket, and waits for readiness in between. The limit is
/// checked before each try, so that a peer that always has one more byte cannot exceed it.
fn retry_until_ready<'s>(
    limit: &WaitLimit,
    stream: &'s TcpStream,
    readiness: Readiness,
    mut attempt: impl FnMut(&'s TcpStream) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        limit.left()?;
        match attempt(stream) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => limit.wait(stream, readiness)?,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
