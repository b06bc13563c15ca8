//! Through the operator's proxy: a tunnel to the number that was judged.
//!
//! The proxy is never given a name to look up: what a name stands for at the proxy could be another host than
//! the one that was judged. Plain HTTP goes through a tunnel too, for the same reason.
//!
//! Invariant: what stands behind `CONNECT` is a number that was judged.

use super::bound::Bound;
use super::dial::dial;
use super::error::{OutboundError, stopped};
use super::lookup::Lookup;
use picoclaw_policy::network::{ProxyAddress, Resolution};
use rustix::event::PollFlags;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// The longest head of an answer that a proxy may give.
const LONGEST_HEAD: usize = 8192;

/// Connects to the proxy and has it connect to `target`.
pub(super) fn tunnel(
    proxy: &ProxyAddress,
    lookup: &Lookup,
    target: SocketAddr,
    bound: &Bound,
) -> Result<TcpStream, OutboundError> {
    let mut last = OutboundError::Proxy(format!("`{}` has no address", proxy.host()));
    for ip in addresses(proxy, lookup, bound)? {
        let address = SocketAddr::new(ip, proxy.port());
        match dial(address, bound) {
            Ok(stream) => return greet(proxy, stream, target, bound),
            Err(why) => last = OutboundError::dial(address, why),
        }
    }
    Err(last)
}

fn addresses(proxy: &ProxyAddress, lookup: &Lookup, bound: &Bound) -> Result<Vec<IpAddr>, OutboundError> {
    if let Some(ip) = proxy.literal() {
        return Ok(vec![ip]);
    }
    match lookup.resolve(proxy.host(), bound)? {
        Resolution::Addresses(found) => Ok(found),
        Resolution::Failed(why) => Err(OutboundError::Proxy(format!("`{}`: {why}", proxy.host()))),
        Resolution::NotLookedUp => Ok(Vec::new()),
    }
}

fn greet(
    proxy: &ProxyAddress,
    stream: TcpStream,
    target: SocketAddr,
    bound: &Bound,
) -> Result<TcpStream, OutboundError> {
    let authorization =
        proxy.authorization().map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    let head = exchange(&stream, request.as_bytes(), bound).map_err(|why| match stopped(&why) {
        Some(why) => OutboundError::Stopped(why),
        None => OutboundError::Proxy(why.to_string()),
    })?;
    let status: String = head.split(|b| *b == b' ').nth(1).map(ascii).unwrap_or_default();
    match (head.starts_with(b"HTTP/1."), status.as_str()) {
        (true, "200") => Ok(stream),
        (true, status) if status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit()) => {
            Err(OutboundError::Proxy(format!("it answered {status} to a tunnel to `{target}`")))
        }
        _ => Err(OutboundError::Proxy("its answer is not HTTP".to_owned())),
    }
}

fn ascii(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|b| char::from(*b)).collect()
}

/// Sends the request and reads the head of the answer, byte by byte: what follows belongs to the tunnel.
fn exchange(stream: &TcpStream, request: &[u8], bound: &Bound) -> io::Result<Vec<u8>> {
    let mut sent = 0;
    while sent < request.len() {
        let rest = request.get(sent..).unwrap_or_default();
        sent += patient(bound, stream, PollFlags::OUT, |mut stream| stream.write(rest))?;
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if patient(bound, stream, PollFlags::IN, |mut stream| stream.read(&mut byte))? == 0 {
            return Err(io::Error::other("it hung up"));
        }
        head.extend(byte);
        if head.len() > LONGEST_HEAD {
            return Err(io::Error::other("its answer has no end"));
        }
    }
    Ok(head)
}

/// Tries an operation on a non-blocking socket, and waits for readiness in between. The bound is checked before each
/// try: a server that always has one more byte ends as well.
fn patient<'s>(
    bound: &Bound,
    stream: &'s TcpStream,
    events: PollFlags,
    mut attempt: impl FnMut(&'s TcpStream) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        bound.left()?;
        match attempt(stream) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => bound.wait(stream, events)?,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
