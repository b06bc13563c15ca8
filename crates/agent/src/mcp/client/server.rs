//! One configured server: connected when it is first needed, reconnected when it was lost. Its
//! tools are used only while they are the pinned ones.

use super::connection::{ServerConnection, error_text};
use super::env_file::read_env_file;
use super::error::McpError;
use crate::mcp::pins::{MAX_TOOLS, PinKey, PinStatus, Pins, ToolList};
use picoclaw_policy::Subject;
use picoclaw_policy::config::{McpServerConfig, McpTransport};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::helper::{HelperSpec, RunningHelper};
use picoclaw_sandbox::launch::{CancelToken, Deadline, Output, OutputLimit, Principal, Stdin, Streams};
use picoclaw_sandbox::os_file::read_regular_file;
use picoclaw_sandbox::warden::Warden;
use rmcp::model::CallToolResult;
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a server has to start and list its tools.
pub const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(600);

/// The largest `env_file`.
const MAX_ENV_FILE_BYTES: u64 = 1 << 20;

/// A configured server.
pub(super) struct Server {
    config: McpServerConfig,
    warden: Arc<Warden>,
    pins: Arc<Pins>,
    subject: Subject,
    ready_timeout: Duration,
    connection: Mutex<Option<Arc<ServerConnection>>>,
    /// Held while a changed list is checked.
    checking: Mutex<()>,
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
            ready_timeout: READY_TIMEOUT,
            connection: Mutex::new(None),
            checking: Mutex::default(),
        }
    }

    /// The same server with another timeout for its start.
    pub(super) fn with_ready_timeout(self, ready_timeout: Duration) -> Self {
        Self { ready_timeout, ..self }
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) fn is_deferred(&self) -> bool {
        self.config.deferred
    }

    /// Connects and lists the tools; an error when they are not the pinned ones.
    pub(super) async fn list_tools(&self) -> Result<(ToolList, PinStatus), McpError> {
        let (connection, listed) = self.connected().await?;
        match listed {
            Some(listed) => Ok(listed),
            None => self.list_and_check(&connection).await,
        }
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        halt: &CancelToken,
    ) -> Result<CallToolResult, McpError> {
        let (connection, _) = self.connected().await?;
        self.check_changed_tools(&connection, halt).await?;
        let result = tokio::select! {
            result = tokio::time::timeout(CALL_TIMEOUT, connection.call_tool(tool, arguments)) => result,
            () = halt.cancelled() => {
                // Ends whatever the server runs for this call; the next call restarts it.
                self.close().await;
                return Err(McpError::Halted);
            }
        };
        match result {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ServiceError::McpError(error))) => {
                Err(McpError::Refused { message: error.message.into_owned() })
            }
            Ok(Err(why)) => {
                if connection.is_closed() {
                    self.close().await;
                    return Err(self.gone());
                }
                Err(McpError::Lost { name: self.name().to_owned(), why: error_text(&why) })
            }
            Err(_) => {
                self.close().await;
                Err(McpError::TimedOut { name: self.name().to_owned(), limit: CALL_TIMEOUT })
            }
        }
    }

    /// Lists the tools again if the server has announced a change. On failure the connection is
    /// closed, so that the next call restarts the server and checks it anew.
    async fn check_changed_tools(
        &self,
        connection: &ServerConnection,
        halt: &CancelToken,
    ) -> Result<(), McpError> {
        let check = async {
            // Concurrent calls wait for the check.
            let _guard = self.checking.lock().await;
            match connection.take_tools_changed() {
                true => self.list_and_check(connection).await.map(drop),
                false => Ok(()),
            }
        };
        let checked = tokio::select! {
            checked = tokio::time::timeout(self.ready_timeout, check) => {
                checked.unwrap_or_else(|_| Err(self.slow()))
            }
            () = halt.cancelled() => Err(McpError::Halted),
        };
        if checked.is_err() {
            self.close().await;
        }
        checked
    }

    /// The protocol version of the current connection.
    pub(super) async fn protocol_version(&self) -> Option<String> {
        self.connection.lock().await.as_ref().and_then(|connection| connection.protocol_version())
    }

    /// Closes the connection.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            connection.close().await;
        }
    }

    /// The connection; for a new one also its checked list.
    async fn connected(&self) -> Result<(Arc<ServerConnection>, Option<(ToolList, PinStatus)>), McpError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok((Arc::clone(connection), None));
        }
        if let Some(lost) = current.take() {
            lost.close().await;
        }
        let connecting = async {
            let connection = Arc::new(self.connect().await?);
            let checked = self.list_and_check(&connection).await;
            if checked.is_err() {
                connection.close().await;
            }
            checked.map(|listed| (connection, listed))
        };
        let connected = tokio::time::timeout(self.ready_timeout, connecting).await;
        let (connection, listed) = connected.map_err(|_| self.slow())??;
        *current = Some(Arc::clone(&connection));
        Ok((connection, Some(listed)))
    }

    async fn connect(&self) -> Result<ServerConnection, McpError> {
        match &self.config.transport {
            McpTransport::Stdio { .. } => {
                let (warden, config, subject) =
                    (Arc::clone(&self.warden), self.config.clone(), self.subject.clone());
                let started =
                    tokio::task::spawn_blocking(move || start_helper(&warden, &config, &subject)).await;
                ServerConnection::to_child(self.name(), started.map_err(|_| self.gone())??).await
            }
            McpTransport::Http { url, headers } => {
                let headers: Vec<_> =
                    headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
                ServerConnection::to_url(self.name(), url, &headers).await
            }
        }
    }

    /// Lists the tools and compares them with the pin; an error when they have changed.
    async fn list_and_check(&self, connection: &ServerConnection) -> Result<(ToolList, PinStatus), McpError> {
        let name = || self.name().to_owned();
        let handshake = |why: ServiceError| McpError::Handshake { name: name(), why: error_text(&why) };
        let tools = connection.list_tools(MAX_TOOLS).await.map_err(handshake)?;
        let list = ToolList::new(tools).map_err(|source| McpError::Tools { name: name(), source })?;
        let (pins, key, listed) = (Arc::clone(&self.pins), PinKey::configured(self.name()), list.clone());
        let status = tokio::task::spawn_blocking(move || pins.judge(&key, &listed)).await;
        let status = status.map_err(|_| self.gone())?;
        match status.map_err(|source| McpError::Pin { name: name(), source })? {
            PinStatus::Changed => Err(McpError::Changed { name: name() }),
            status => Ok((list, status)),
        }
    }

    fn slow(&self) -> McpError {
        McpError::Slow { name: self.name().to_owned(), limit: self.ready_timeout }
    }

    fn gone(&self) -> McpError {
        McpError::Gone { name: self.name().to_owned() }
    }
}

fn start_helper(
    warden: &Warden,
    config: &McpServerConfig,
    subject: &Subject,
) -> Result<RunningHelper, McpError> {
    let McpTransport::Stdio { command, args, env, env_file } = &config.transport else {
        return Err(McpError::Gone { name: config.name.clone() });
    };
    let words: Vec<OsString> = std::iter::once(command).chain(args).map(OsString::from).collect();
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    if let Some(path) = env_file {
        let settings = |why: String| McpError::Settings { name: config.name.clone(), why };
        let text = read_operator_text(path, warden).map_err(settings)?;
        let read = read_env_file(&text).map_err(settings)?;
        variables.extend(read.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    variables.extend(env.iter().map(|(name, value)| (name.into(), value.reveal().into())));
    let spec = HelperSpec {
        principal: Principal::Mcp(config.name.clone()),
        command: &words,
        variables: &variables,
        dir: ChildDir::Private,
        isolation: config.isolation.clone(),
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        deadline: Deadline::None,
        output_limit: OutputLimit::default(),
    };
    warden
        .start_helper(&spec, subject)
        .map_err(|source| McpError::Start { name: config.name.clone(), source })
}

/// Reads a file of the operator; one that an agent could have written is refused.
fn read_operator_text(path: &Path, warden: &Warden) -> Result<String, String> {
    let shown = path.display();
    if warden.is_agent_writable(path) {
        return Err(format!("`{shown}` lies where an agent can write, in a workspace or a shared directory"));
    }
    let read = read_regular_file(path, MAX_ENV_FILE_BYTES)
        .map_err(|why| format!("could not read `{shown}`: {why}"))?;
    String::from_utf8(read).map_err(|_| format!("`{shown}` is not UTF-8 text"))
}
