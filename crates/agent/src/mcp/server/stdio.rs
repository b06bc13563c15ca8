//! MCP over a pair of byte streams: one JSON-RPC message per line.
//!
//! One thread reads and one writes, so that a client that sends nothing or reads nothing blocks
//! neither the runtime nor the other direction.

use super::decode::{self, Decoded, MAX_MESSAGE_BYTES, decode};
use super::handler::{ClientHandler, SessionScope};
use super::request_queue::{Enqueued, RequestQueue};
use super::state::ServerState;
use crate::jsonrpc::OversizedId;
use picoclaw_sandbox::bounded_lines::{BoundedLines, Line};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long calls may run on after the end of input, while the client still reads.
const END_OF_INPUT_GRACE: Duration = Duration::from_secs(3);

/// Poll interval for a closed output during [`END_OF_INPUT_GRACE`].
const OUTPUT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the last responses may take to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Capacity of the channels between the two threads and the runtime, in messages.
const QUEUE_CAPACITY: usize = 16;

const READ_BUFFER_BYTES: usize = 64 << 10;

/// The streams of one client.
pub struct Streams {
    /// Messages from the client.
    pub input: Box<dyn Read + Send>,
    /// Messages to the client.
    pub output: Box<dyn Write + Send>,
    /// Whether the reading end of `output` is closed.
    pub is_output_closed: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Why a client could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The limit of connections is reached.
    #[error("too many clients at once")]
    Full,
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[from] io::Error),
    /// The handshake failed.
    #[error("the initialize handshake failed: {0}")]
    Greeting(String),
}

/// Serves one client until it disconnects; its calls are cancelled then.
pub async fn serve(state: &Arc<ServerState>, streams: Streams) -> Result<(), ServeError> {
    let disconnected = CancellationToken::new();
    let handler =
        ClientHandler::new(state, disconnected.clone(), SessionScope::Process).ok_or(ServeError::Full)?;
    let (transport, flushed) = StdioTransport::open(streams, disconnected.clone())?;
    let served = match serve_server(handler, transport).await {
        Ok(service) => {
            let _ = service.waiting().await;
            Ok(())
        }
        // Disconnecting before the first message is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(why) => Err(ServeError::Greeting(why.to_string())),
    };
    disconnected.cancel();
    let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
    served
}

/// What the reader thread has read.
#[derive(Debug)]
enum Incoming {
    Line(Vec<u8>),
    /// A message over [`MAX_MESSAGE_BYTES`], and its id if it was a request.
    TooLong(Option<RequestId>),
}

/// The two streams as rmcp's transport.
struct StdioTransport {
    incoming: mpsc::Receiver<Incoming>,
    outgoing: mpsc::Sender<Vec<u8>>,
    queue: Arc<Mutex<RequestQueue>>,
    /// Notified when a request was answered.
    answered: Arc<Notify>,
    /// Notified when writing has failed.
    write_failed: Arc<Notify>,
    /// Cancels the calls of this connection.
    disconnected: CancellationToken,
    is_output_closed: Box<dyn Fn() -> bool + Send + Sync>,
    /// Error responses of the transport itself that are not sent yet.
    errors: VecDeque<Vec<u8>>,
    /// Whether the first request was delivered: anything else before it would fail the handshake.
    has_begun: bool,
    /// Set at the end of input: until when running requests may still be answered.
    deadline: Option<Instant>,
}

impl StdioTransport {
    /// Starts both threads. The receiver resolves when everything was written.
    fn open(streams: Streams, disconnected: CancellationToken) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (line_sender, incoming) = mpsc::channel(QUEUE_CAPACITY);
        let (outgoing, messages) = mpsc::channel(QUEUE_CAPACITY);
        let (done, flushed) = oneshot::channel();
        let write_failed = Arc::new(Notify::new());
        let Streams { input, output, is_output_closed } = streams;
        spawn_thread("mcp-reader", move || {
            // Fails when the connection has ended.
            let _ = read_lines(input, &line_sender);
        })?;
        let failed = Arc::clone(&write_failed);
        spawn_thread("mcp-writer", move || {
            if write_messages(output, messages).is_err() {
                failed.notify_one();
            }
            drop(done);
        })?;
        let transport = Self {
            incoming,
            outgoing,
            queue: Arc::default(),
            answered: Arc::default(),
            write_failed,
            disconnected,
            is_output_closed,
            errors: VecDeque::new(),
            has_begun: false,
            deadline: None,
        };
        Ok((transport, flushed))
    }

    fn queue(&self) -> MutexGuard<'_, RequestQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply_error(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.errors.extend(to_line(&ServerJsonRpcMessage::error(error, id)));
    }

    /// Sends the transport's own error responses. Cancel safe.
    async fn send_errors(&mut self) {
        while !self.errors.is_empty() {
            let Ok(slot) = self.outgoing.reserve().await else { return self.errors.clear() };
            if let Some(line) = self.errors.pop_front() {
                slot.send(line);
            }
        }
    }

    /// Decodes a line; returns the message that is to be handled now, if any.
    fn receive_line(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        match decode(line) {
            Decoded::Ignored => None,
            Decoded::Invalid(error, id) => {
                self.reply_error(error, id);
                None
            }
            Decoded::Message(message) => self.enqueue(*message, line.len()),
        }
    }

    fn enqueue(&mut self, message: ClientJsonRpcMessage, bytes: usize) -> Option<ClientJsonRpcMessage> {
        let id = match &message {
            JsonRpcMessage::Request(request) => request.id.clone(),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.queue().cancel(id);
                }
                return self.has_begun.then_some(message);
            }
            _ => return self.has_begun.then_some(message),
        };
        let enqueued = self.queue().push(&id, bytes, message);
        match enqueued {
            Enqueued::Start(message) => {
                self.has_begun = true;
                return Some(*message);
            }
            Enqueued::Waiting => {}
            Enqueued::Full => {
                let error =
                    ErrorData::new(ErrorCode(-32000), "too many requests at once; wait for answers", None);
                self.reply_error(error, Some(id));
            }
            Enqueued::DuplicateId => {
                let error =
                    ErrorData::new(ErrorCode::INVALID_REQUEST, "a request of this id is on the way", None);
                self.reply_error(error, Some(id));
            }
        }
        None
    }

    /// Waits until no request is left, the output is closed, or `deadline`.
    async fn drain(&self, deadline: Instant) {
        while !self.queue().is_empty() && Instant::now() < deadline && !(self.is_output_closed)() {
            tokio::select! {
                () = self.answered.notified() => {}
                () = tokio::time::sleep(OUTPUT_POLL_INTERVAL) => {}
            }
        }
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (outgoing, queue, answered) =
            (self.outgoing.clone(), Arc::clone(&self.queue), Arc::clone(&self.answered));
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let line = to_line(&message).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            drop(message);
            let slot = outgoing.reserve().await;
            // Before the client can read the response, since it may reuse the id at once.
            if let Some(id) = id {
                queue.lock().unwrap_or_else(PoisonError::into_inner).finish(&id);
                answered.notify_one();
            }
            slot.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?.send(line);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_errors().await;
            if let Some(message) = self.queue().next() {
                return Some(message);
            }
            if let Some(deadline) = self.deadline {
                self.drain(deadline).await;
                if let Some(message) = self.queue().next() {
                    return Some(message);
                }
                self.disconnected.cancel();
                return None;
            }
            let line = tokio::select! {
                line = self.incoming.recv() => line,
                () = self.answered.notified() => continue,
                () = self.write_failed.notified() => {
                    self.disconnected.cancel();
                    return None;
                }
            };
            match line {
                Some(Incoming::Line(line)) => {
                    if let Some(message) = self.receive_line(&line) {
                        return Some(message);
                    }
                }
                Some(Incoming::TooLong(id)) => self.reply_error(decode::too_long(), id),
                None => self.deadline = Some(Instant::now() + END_OF_INPUT_GRACE),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn read_lines(
    mut input: Box<dyn Read + Send>,
    sender: &mpsc::Sender<Incoming>,
) -> Result<(), mpsc::error::SendError<Incoming>> {
    let mut lines = BoundedLines::new(MAX_MESSAGE_BYTES);
    let (mut id, mut is_too_long) = (OversizedId::default(), false);
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        let chunk = buffer.get(..read).unwrap_or_default();
        if chunk.is_empty() {
            return match lines.finish() {
                Some(Line::Whole(line)) => sender.blocking_send(Incoming::Line(line)),
                _ => Ok(()),
            };
        }
        // Each piece ends with its line, so that the id of an over-long line is complete.
        for mut piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            id.push(piece);
            let ends_line = piece.ends_with(b"\n");
            match lines.next_line(&mut piece) {
                Some(Line::Whole(line)) => sender.blocking_send(Incoming::Line(line))?,
                Some(Line::TooLong { .. }) => is_too_long = true,
                None => {}
            }
            if ends_line {
                let id = std::mem::take(&mut id).finish();
                if std::mem::take(&mut is_too_long) {
                    let id = id.and_then(|id| serde_json::from_str(&id).ok());
                    sender.blocking_send(Incoming::TooLong(id))?;
                }
            }
        }
    }
}

fn to_line(message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message).ok()?;
    line.push(b'\n');
    Some(line)
}

fn write_messages(
    mut output: Box<dyn Write + Send>,
    mut messages: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(line) = messages.blocking_recv() {
        output.write_all(&line)?;
        output.flush()?;
    }
    Ok(())
}
