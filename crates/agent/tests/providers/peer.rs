//! A peer on loopback that answers as a table says, byte by byte if need be.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the peer does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// A status, more header lines, and a body.
    Reply(u16, &'static str, String),
    /// An event stream in these packets, ended as it should be.
    Stream(Vec<String>),
    /// The same, and then the connection breaks.
    Broken(Vec<String>),
    /// The same, and then nothing more, for ever.
    Stalled(Vec<String>),
    /// A stream that sends this again and again, and does not end.
    Drip(&'static str),
    /// A body of so many bytes.
    Flood(&'static str, usize),
    /// Nothing, for ever.
    Silence,
    /// These bytes and the end.
    Raw(&'static [u8]),
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `POST /v1/chat/completions`.
    pub(crate) line: String,
    /// The header lines, in lower case up to the colon.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// A listening peer; it ends with the test's runtime.
pub(crate) struct Peer {
    /// `http://127.0.0.1:PORT`.
    pub(crate) base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Peer {
    /// Does one act after the other, and the last one again and again.
    pub(crate) async fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let theirs = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, acts) = (Arc::clone(&theirs), acts.clone());
                tokio::spawn(async move { serve(stream, &acts, &seen).await });
            }
        });
        Self { base, seen }
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, acts: &[Act], seen: &Mutex<Vec<Seen>>) -> Option<()> {
    let request = read(&mut stream).await?;
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(request);
        seen.len() - 1
    };
    match &acts[number.min(acts.len() - 1)] {
        Act::Reply(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(body.as_bytes()).await.ok()?;
        }
        Act::Stream(packets) => {
            packets_of(&mut stream, packets).await?;
            stream.write_all(b"0\r\n\r\n").await.ok()?;
        }
        Act::Broken(packets) => packets_of(&mut stream, packets).await?,
        Act::Stalled(packets) => {
            packets_of(&mut stream, packets).await?;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        Act::Drip(packet) => {
            packets_of(&mut stream, &[]).await?;
            loop {
                let chunk = format!("{:x}\r\n{packet}\r\n", packet.len());
                stream.write_all(chunk.as_bytes()).await.ok()?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Act::Flood(kind, size) => {
            let head = format!("HTTP/1.1 200 X\r\ncontent-type: {kind}\r\ncontent-length: {size}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.ok()?;
            let packet = "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n".repeat(1500);
            for _ in 0..size / packet.len() {
                stream.write_all(packet.as_bytes()).await.ok()?;
            }
        }
        Act::Silence => tokio::time::sleep(Duration::from_secs(3600)).await,
        Act::Raw(bytes) => stream.write_all(bytes).await.ok()?,
    }
    stream.shutdown().await.ok()
}

async fn packets_of(stream: &mut TcpStream, packets: &[String]) -> Option<()> {
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok()?;
    for packet in packets {
        stream.write_all(format!("{:x}\r\n{packet}\r\n", packet.len()).as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
        tokio::task::yield_now().await;
    }
    Some(())
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen { line, headers, body: serde_json::from_slice(&bytes[head + 4..]).ok()? })
}

/// Events as a stream writes them.
pub(crate) fn events(data: &[&str]) -> Vec<String> {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}
