//! One server of the configuration: connected when it is needed, connected again when it was lost.
//!
//! Invariant: its tools are used only while they are the pinned ones.

use super::error::McpError;
use super::link::{Link, reason};
use super::variables::read_env_file;
use crate::mcp::pins::{MOST_TOOLS, PinKey, Pins, Standing, ToolList};
use picoclaw_policy::Subject;
use picoclaw_policy::config::{McpServerConfig, McpTransport};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::guest::{Guest, Visitor};
use picoclaw_sandbox::launch::{CancelToken, Deadline, Output, OutputLimit, Principal, Stdin, Streams};
use picoclaw_sandbox::root::read_operator_file;
use picoclaw_sandbox::warden::Warden;
use rmcp::model::CallToolResult;
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a server has to come up and show its tools.
pub const READY: Duration = Duration::from_secs(20);

/// How long a call may take.
const CALL: Duration = Duration::from_secs(600);

/// The largest env file.
const MOST_ENV: u64 = 1 << 20;

/// A server.
pub(super) struct Server {
    config: McpServerConfig,
    warden: Arc<Warden>,
    pins: Arc<Pins>,
    subject: Subject,
    ready: Duration,
    link: Mutex<Option<Arc<Link>>>,
    /// Held while its tools are looked at again.
    looking: Mutex<()>,
}

impl Server {
    pub(super) fn new(
        config: McpServerConfig,
        warden: Arc<Warden>,
        pins: Arc<Pins>,
        subject: Subject,
    ) -> Self {
        Self {
            config,
            warden,
            pins,
            subject,
            ready: READY,
            link: Mutex::new(None),
            looking: Mutex::default(),
        }
    }

    /// The same, with another time to come up in.
    pub(super) fn within(self, ready: Duration) -> Self {
        Self { ready, ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) fn is_deferred(&self) -> bool {
        self.config.deferred
    }

    /// Connects, and judges what it shows; the tools, if they are the pinned ones.
    pub(super) async fn tools(&self) -> Result<(ToolList, Standing), McpError> {
        let (_, list, standing) = self.connected().await?;
        match list {
            Some(list) => Ok((list, standing)),
            // It was connected already; ask again.
            None => {
                let link = self.link.lock().await.clone().ok_or_else(|| self.gone())?;
                self.judged(&link).await
            }
        }
    }

    /// Calls one of its tools.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        halt: &CancelToken,
    ) -> Result<CallToolResult, McpError> {
        let (link, ..) = self.connected().await?;
        self.unchanged(&link, halt).await?;
        let answer = tokio::select! {
            answer = tokio::time::timeout(CALL, link.call(tool, arguments)) => answer,
            () = halt.cancelled() => {
                // Whatever it started for us ends with it; the next call starts it anew.
                self.close().await;
                return Err(McpError::Halted);
            }
        };
        match answer {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ServiceError::McpError(error))) => {
                Err(McpError::Refused { message: error.message.into_owned() })
            }
            Ok(Err(why)) => {
                if link.is_gone() {
                    self.close().await;
                    return Err(self.gone());
                }
                Err(McpError::Lost { name: self.name().to_owned(), why: reason(&why) })
            }
            Err(_) => {
                self.close().await;
                Err(McpError::TimedOut { name: self.name().to_owned(), limit: CALL })
            }
        }
    }

    /// Judges what it shows now, if it said that this is something else. A server that has changed, or does not say how, is not
    /// asked again: the next call starts it anew, and it is judged anew.
    async fn unchanged(&self, link: &Link, halt: &CancelToken) -> Result<(), McpError> {
        let looking = async {
            // Nobody goes past while somebody else still looks.
            let _alone = self.looking.lock().await;
            match link.take_changed() {
                true => self.judged(link).await.map(drop),
                false => Ok(()),
            }
        };
        let judged = tokio::select! {
            judged = tokio::time::timeout(self.ready, looking) => judged.unwrap_or_else(|_| Err(self.slow())),
            () = halt.cancelled() => Err(McpError::Halted),
        };
        if judged.is_err() {
            self.close().await;
        }
        judged
    }

    /// The revision of the protocol that it speaks, while it is connected.
    pub(super) async fn revision(&self) -> Option<String> {
        self.link.lock().await.as_ref().and_then(|link| link.revision())
    }

    /// Ends it.
    pub(super) async fn close(&self) {
        if let Some(link) = self.link.lock().await.take() {
            link.close().await;
        }
    }

    /// The connection; a new one, with what it showed, when there is none.
    async fn connected(&self) -> Result<(Arc<Link>, Option<ToolList>, Standing), McpError> {
        let mut held = self.link.lock().await;
        if let Some(link) = held.as_ref().filter(|link| !link.is_gone()) {
            return Ok((Arc::clone(link), None, Standing::Same));
        }
        if let Some(lost) = held.take() {
            lost.close().await;
        }
        let connecting = async {
            let link = Arc::new(self.connect().await?);
            let judged = self.judged(&link).await;
            if judged.is_err() {
                link.close().await;
            }
            judged.map(|(list, standing)| (link, list, standing))
        };
        let connected = tokio::time::timeout(self.ready, connecting).await;
        let (link, list, standing) = connected.map_err(|_| self.slow())??;
        *held = Some(Arc::clone(&link));
        Ok((link, Some(list), standing))
    }

    async fn connect(&self) -> Result<Link, McpError> {
        match &self.config.transport {
            McpTransport::Stdio { .. } => {
                let (warden, config) = (Arc::clone(&self.warden), self.config.clone());
                let subject = self.subject.clone();
                let started = tokio::task::spawn_blocking(move || welcome(&warden, &config, &subject)).await;
                Link::to_child(self.name(), started.map_err(|_| self.gone())??).await
            }
            McpTransport::Http { url, headers } => {
                let headers: Vec<_> =
                    headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
                Link::to_address(self.name(), url, &headers).await
            }
        }
    }

    /// What it shows, judged by its pin; another list than the pinned one is none.
    async fn judged(&self, link: &Link) -> Result<(ToolList, Standing), McpError> {
        let name = || self.name().to_owned();
        let handshake = |why: ServiceError| McpError::Handshake { name: name(), why: reason(&why) };
        let tools = link.tools(MOST_TOOLS).await.map_err(handshake)?;
        let list = ToolList::new(tools).map_err(|source| McpError::Tools { name: name(), source })?;
        let (pins, key, shown) = (Arc::clone(&self.pins), PinKey::configured(self.name()), list.clone());
        let standing = tokio::task::spawn_blocking(move || pins.judge(&key, &shown)).await;
        let standing = standing.map_err(|_| self.gone())?;
        match standing.map_err(|source| McpError::Pin { name: name(), source })? {
            Standing::Changed => Err(McpError::Changed { name: name() }),
            standing => Ok((list, standing)),
        }
    }

    fn slow(&self) -> McpError {
        McpError::Slow { name: self.name().to_owned(), limit: self.ready }
    }

    fn gone(&self) -> McpError {
        McpError::Gone { name: self.name().to_owned() }
    }
}

fn welcome(warden: &Warden, config: &McpServerConfig, subject: &Subject) -> Result<Visitor, McpError> {
    let McpTransport::Stdio { command, args, env, env_file } = &config.transport else {
        return Err(McpError::Gone { name: config.name.clone() });
    };
    let words: Vec<OsString> = std::iter::once(command).chain(args).map(OsString::from).collect();
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    if let Some(path) = env_file {
        let settings = |why: String| McpError::Settings { name: config.name.clone(), why };
        let text = read_operators(path, warden).map_err(settings)?;
        let read = read_env_file(&text).map_err(settings)?;
        variables.extend(read.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    variables.extend(env.iter().map(|(name, value)| (name.into(), value.reveal().into())));
    let guest = Guest {
        principal: Principal::Mcp(config.name.clone()),
        command: &words,
        variables: &variables,
        dir: ChildDir::Private,
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        deadline: Deadline::None,
        output_limit: OutputLimit::default(),
    };
    warden.welcome(&guest, subject).map_err(|source| McpError::Start { name: config.name.clone(), source })
}

/// Reads a file of the operator's; one that an agent could have written is refused.
fn read_operators(path: &Path, warden: &Warden) -> Result<String, String> {
    let told = path.display();
    if warden.is_agents(path) {
        return Err(format!("`{told}` lies where an agent can write, in a workspace or a shared directory"));
    }
    let read = read_operator_file(path, MOST_ENV).map_err(|why| format!("could not read `{told}`: {why}"))?;
    String::from_utf8(read).map_err(|_| format!("`{told}` is not UTF-8 text"))
}
