//! One client on a pair of streams, a message a line.
//!
//! Three threads read and one writes, so that neither a client that sends nothing nor one that reads nothing
//! holds anything else up.
//!
//! Invariant: when the client is gone, its calls are halted and `serve` returns.

use super::client::Client;
use super::frame::{self, Frame};
use super::lines::Heard;
use super::outlet::Outlet;
use super::porch::{Porch, Tenure};
use super::premises::Premises;
use super::quick::Quick;
use super::readers;
use super::running::Running;
use super::traffic::{Arrival, Traffic};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

/// How long calls may go on when the client has nothing more to say but still listens.
const GRACE: Duration = Duration::from_secs(3);

/// How often somebody looks whether it still listens.
const LOOK: Duration = Duration::from_millis(50);

/// How long the last answers may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Messages between the threads and the server.
const QUEUE: usize = 16;

/// Where a client is.
pub struct Streams {
    /// What it says.
    pub input: Box<dyn Read + Send>,
    /// What it hears.
    pub output: Box<dyn Write + Send>,
    /// Whether nobody will ever hear it.
    pub is_deaf: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Why a client could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There are too many clients.
    #[error("too many clients at once")]
    Full,
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[from] io::Error),
    /// The client did not get through the handshake.
    #[error("the client could not be greeted: {0}")]
    Greeting(String),
}

/// Serves one client until it is gone.
pub async fn serve(premises: &Arc<Premises>, streams: Streams) -> Result<(), ServeError> {
    let running = Running::default();
    let client: Arc<Client> = Arc::default();
    let porch = Porch::new(premises, Arc::clone(&client), running.clone(), Tenure::Process);
    let porch = porch.ok_or(ServeError::Full)?;
    let (wire, told) = Wire::open(streams, premises, &client, running.clone())?;
    let served = match serve_server(porch, wire).await {
        Ok(service) => {
            let _ = service.waiting().await;
            Ok(())
        }
        // A client that leaves before it said anything is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(why) => Err(ServeError::Greeting(why.to_string())),
    };
    running.halt_all();
    // What was said last is heard, if the client listens at all.
    let _ = tokio::time::timeout(LAST_WORDS, told).await;
    served
}

/// The two streams, as the protocol's transport.
struct Wire {
    heard: mpsc::Receiver<Heard>,
    said: mpsc::Sender<Vec<u8>>,
    traffic: Arc<Mutex<Traffic>>,
    moved: Arc<Notify>,
    /// Raised when nothing can be written any more.
    broken: Arc<Notify>,
    running: Running,
    is_deaf: Box<dyn Fn() -> bool + Send + Sync>,
    /// Answers of the wire's own that found no room yet.
    owed: VecDeque<Vec<u8>>,
    /// Whether the first request was passed on: before it, anything else would end the handshake.
    has_begun: bool,
    /// When the client stopped talking: until when it may still be answered.
    until: Option<Instant>,
}

impl Wire {
    /// The wire, and what ends when everything was written.
    fn open(
        streams: Streams,
        premises: &Arc<Premises>,
        client: &Arc<Client>,
        running: Running,
    ) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (hear, heard) = mpsc::channel(QUEUE);
        let (said, say) = mpsc::channel(QUEUE);
        let (done, told) = oneshot::channel();
        let Streams { input, output, is_deaf } = streams;
        let outlet = Outlet::new(output);
        let wire = Self {
            heard,
            said,
            traffic: Arc::default(),
            moved: Arc::new(Notify::new()),
            broken: Arc::new(Notify::new()),
            running,
            is_deaf,
            owed: VecDeque::new(),
            has_begun: false,
            until: None,
        };
        let notices = [&wire.moved, &wire.broken];
        let quick = Quick::new(premises, client, &wire.traffic, notices, outlet.clone(), &wire.running);
        readers::start(input, hear, quick, client)?;
        let breaking = Arc::clone(&wire.broken);
        thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || {
            if speak(&outlet, say).is_err() {
                breaking.notify_one();
            }
            drop(done);
        })?;
        Ok((wire, told))
    }

    fn traffic(&self) -> std::sync::MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.owed.extend(written(&ServerJsonRpcMessage::error(error, id)));
    }

    /// Passes on what is owed. It can be given up and begun again at any point.
    async fn pay(&mut self) {
        while !self.owed.is_empty() {
            let Ok(room) = self.said.reserve().await else { return self.owed.clear() };
            if let Some(bytes) = self.owed.pop_front() {
                room.send(bytes);
            }
        }
    }

    /// What to do with a line; a message that is to be worked on comes back.
    fn take(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        match frame::read(line) {
            Frame::Nothing => None,
            Frame::Fault(error, id) => {
                self.refuse(error, id);
                None
            }
            Frame::Message(message) => self.admit(*message, line.len()),
        }
    }

    fn admit(&mut self, message: ClientJsonRpcMessage, bytes: usize) -> Option<ClientJsonRpcMessage> {
        let id = match &message {
            JsonRpcMessage::Request(request) => request.id.clone(),
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.traffic().cancelled(id);
                }
                return self.has_begun.then_some(message);
            }
            _ => return self.has_begun.then_some(message),
        };
        let arrival = self.traffic().arrive(&id, bytes, message);
        match arrival {
            Arrival::Go(message) => {
                self.has_begun = true;
                return Some(*message);
            }
            Arrival::Waits => {}
            Arrival::Full => {
                let error =
                    ErrorData::new(ErrorCode(-32000), "too many requests at once; wait for answers", None);
                self.refuse(error, Some(id));
            }
            Arrival::Twice => {
                let error =
                    ErrorData::new(ErrorCode::INVALID_REQUEST, "a request of this id is on the way", None);
                self.refuse(error, Some(id));
            }
        }
        None
    }

    /// The client says nothing more: what is on the way may end, for a while and while it listens.
    async fn leave(&self, until: Instant) {
        while !self.traffic().is_quiet() && Instant::now() < until && !(self.is_deaf)() {
            tokio::select! {
                () = self.moved.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (said, traffic, moved) = (self.said.clone(), Arc::clone(&self.traffic), Arc::clone(&self.moved));
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let bytes = written(&message).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            drop(message);
            let room = said.reserve().await;
            // Before it can be heard: a client may use the name again at once.
            if let Some(id) = id {
                traffic.lock().unwrap_or_else(PoisonError::into_inner).answered(&id);
                moved.notify_one();
            }
            room.map_err(|_| gone())?.send(bytes);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.pay().await;
            if let Some(message) = self.traffic().next() {
                return Some(message);
            }
            if let Some(until) = self.until {
                self.leave(until).await;
                if let Some(message) = self.traffic().next() {
                    return Some(message);
                }
                self.running.halt_all();
                return None;
            }
            let heard = tokio::select! {
                heard = self.heard.recv() => heard,
                () = self.moved.notified() => continue,
                () = self.broken.notified() => {
                    self.running.halt_all();
                    return None;
                }
            };
            match heard {
                Some(Heard::Line(line)) => {
                    if let Some(message) = self.take(&line) {
                        return Some(message);
                    }
                }
                Some(Heard::TooLong(id)) => self.refuse(frame::too_long(), id),
                None => {
                    self.traffic().end();
                    self.until = Some(Instant::now() + GRACE);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn written(message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(room_for(message));
    serde_json::to_writer(&mut bytes, message).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

/// About how long a message will be: a large one that grows while it is written is copied again and again.
fn room_for(message: &ServerJsonRpcMessage) -> usize {
    const OTHERWISE: usize = 1 << 10;
    let JsonRpcMessage::Response(response) = message else { return OTHERWISE };
    let ServerResult::CallToolResult(result) = &response.result else { return OTHERWISE };
    let text: usize =
        result.content.iter().filter_map(|block| block.as_text()).map(|block| block.text.len()).sum();
    // The text and its twin, with an escape every sixteen characters.
    OTHERWISE + text * 2 + text / 8
}

fn speak(outlet: &Outlet, mut say: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(bytes) = say.blocking_recv() {
        outlet.write(&bytes)?;
    }
    // An answer that a reader is still writing is waited for.
    drop(outlet.take());
    Ok(())
}
