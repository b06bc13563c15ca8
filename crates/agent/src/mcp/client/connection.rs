//! The connection to one server. Closing it ends the server's process tree.

use super::bounded_http::{BoundedHttp, RESERVED_HEADERS};
use super::bounded_messages::BoundedMessages;
use super::error::McpError;
use crate::child_pipe;
use crate::line_reader::log_stderr;
use picoclaw_sandbox::helper::RunningHelper;
use picoclaw_sandbox::launch::Status;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, NotificationContext, RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest message of a server.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// Characters of an error message that are kept.
const MAX_ERROR_CHARS: usize = 300;

/// Handles the server's notifications.
#[derive(Clone, Default)]
struct NotificationHandler {
    tools_changed: Arc<AtomicBool>,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("picoclaw", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed.store(true, Ordering::Release);
    }
}

/// A connected server.
pub(super) struct ServerConnection {
    service: RunningService<RoleClient, NotificationHandler>,
    tools_changed: Arc<AtomicBool>,
    helper: Mutex<Option<RunningHelper>>,
}

impl ServerConnection {
    /// Connects to a child on its standard streams.
    pub(super) async fn to_child(name: &str, mut helper: RunningHelper) -> Result<Self, McpError> {
        let gone = || McpError::Gone { name: name.to_owned() };
        let stdin = helper.running.take_stdin().ok_or_else(gone)?;
        let stdout = helper.running.take_stdout().ok_or_else(gone)?;
        let stderr = helper.running.take_stderr().ok_or_else(gone)?;
        let stdin = child_pipe::writer(stdin).map_err(|_| gone())?;
        let stdout = child_pipe::reader(stdout).map_err(|_| gone())?;
        let stderr = child_pipe::reader(stderr).map_err(|_| gone())?;
        tokio::spawn(log_stderr(stderr, "mcp", name.to_owned()));
        let handler = NotificationHandler::default();
        let tools_changed = Arc::clone(&handler.tools_changed);
        let messages = BoundedMessages::new(stdout, MAX_MESSAGE_BYTES);
        // The transport's own limit would end the connection without an answer to the call.
        let transport = AsyncRwTransport::new(messages, stdin).with_max_line_length(MAX_MESSAGE_BYTES + 1);
        // Dropped on failure, which ends the child.
        let helper = Mutex::new(Some(helper));
        let service = handler.serve_with_lifecycle(transport, lifecycle()).await;
        let service = service.map_err(|why| handshake_error(name, &why))?;
        Ok(Self { service, tools_changed, helper })
    }

    /// Connects to a URL over streamable HTTP.
    pub(super) async fn to_url(
        name: &str,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Self, McpError> {
        let settings = |why: String| McpError::Settings { name: name.to_owned(), why };
        let mut custom = HashMap::new();
        for (key, value) in headers {
            if RESERVED_HEADERS.iter().any(|own| key.eq_ignore_ascii_case(own)) {
                return Err(settings(format!("the header `{key}` is the protocol's own")));
            }
            let key = key.parse().map_err(|_| settings(format!("`{key}` is not a valid header name")))?;
            // The value may be a secret and is not shown.
            let value = value
                .parse()
                .map_err(|_| settings(format!("the value of `{key}` is not a valid header value")))?;
            custom.insert(key, value);
        }
        // Fails when a provider is installed already, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        if url.starts_with("http://") {
            // Loading unused root certificates takes long.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|why| settings(why.to_string()))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.custom_headers = custom;
        config.max_sse_event_size = MAX_MESSAGE_BYTES;
        let handler = NotificationHandler::default();
        let tools_changed = Arc::clone(&handler.tools_changed);
        let transport = StreamableHttpClientTransport::with_client(BoundedHttp(client), config);
        let service = handler.serve_with_lifecycle(transport, lifecycle()).await;
        let service = service.map_err(|why| handshake_error(name, &why))?;
        Ok(Self { service, tools_changed, helper: Mutex::new(None) })
    }

    /// The negotiated protocol version.
    pub(super) fn protocol_version(&self) -> Option<String> {
        self.service.peer().peer_info().map(|info| info.protocol_version.to_string())
    }

    /// Whether the connection is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Whether the server has announced a change of its tools since the last call of this.
    pub(super) fn take_tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// The tools of all pages, at least up to `max` of them.
    pub(super) async fn list_tools(&self, max: usize) -> Result<Vec<Value>, ServiceError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        // The pages are limited too, since a page may be empty.
        for _ in 0..=max {
            let page = rmcp::model::PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.peer().list_tools(Some(page)).await?;
            tools.extend(page.tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > max {
                return Ok(tools);
            }
        }
        Err(ServiceError::UnexpectedResponse)
    }

    /// Calls a tool.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.service.call_tool(params).await
    }

    /// Closes the connection and ends the server's process tree.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = tokio::task::spawn_blocking(move || {
            if let Some(mut helper) = helper {
                let status = helper.running.poll().unwrap_or(Status::Halted);
                helper.ended(status);
            }
        });
        let _ = ended.await;
    }
}

fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

fn handshake_error(name: &str, why: &ClientInitializeError) -> McpError {
    McpError::Handshake { name: name.to_owned(), why: handshake_text(why) }
}

fn handshake_text(why: &ClientInitializeError) -> String {
    match why {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_text(fallback),
        ClientInitializeError::TransportError { error, .. } => root_cause(&*error.error),
        other => shorten(&other.to_string()),
    }
}

/// The root cause of a failed request.
pub(super) fn error_text(why: &ServiceError) -> String {
    match why {
        ServiceError::TransportSend(error) => root_cause(&*error.error),
        other => shorten(&other.to_string()),
    }
}

fn root_cause(why: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = match why.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(why)) => why,
        _ => why,
    };
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    shorten(&deepest.to_string())
}

/// Cuts text that a server may have written, and removes the URL, which may contain a secret.
fn shorten(text: &str) -> String {
    let text = text.split(" for url (").next().unwrap_or_default();
    text.chars().take(MAX_ERROR_CHARS).collect()
}
