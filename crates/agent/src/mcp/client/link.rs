//! A connection to one server.
//!
//! Invariant: closing it ends the server's whole tree; a server is shown nothing of ours but a name and a version.

use super::bounded::{Bounded, RESERVED};
use super::error::McpError;
use crate::pipes;
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
use tokio::net::unix::pipe;

/// The longest message of a server.
const LONGEST: usize = 4 << 20;

/// What we hear of a server besides answers.
#[derive(Clone)]
pub(super) struct Ear {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("picoclaw", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }
}

/// A server that is connected.
pub(super) struct Link {
    service: RunningService<RoleClient, Ear>,
    changed: Arc<AtomicBool>,
    helper: Mutex<Option<RunningHelper>>,
}

impl Link {
    /// Speaks to a child on its standard streams.
    pub(super) async fn to_child(name: &str, mut helper: RunningHelper) -> Result<Self, McpError> {
        let gone = || McpError::Gone { name: name.to_owned() };
        let stdin = helper.running.take_stdin().ok_or_else(gone)?;
        let stdout = helper.running.take_stdout().ok_or_else(gone)?;
        let stderr = helper.running.take_stderr().ok_or_else(gone)?;
        let stdin = pipe::Sender::from_owned_fd(stdin).map_err(|_| gone())?;
        let stdout = pipe::Receiver::from_owned_fd(stdout).map_err(|_| gone())?;
        let stderr = pipe::Receiver::from_owned_fd(stderr).map_err(|_| gone())?;
        tokio::spawn(pipes::log(stderr, "mcp", name.to_owned()));
        let (ear, changed) = ear();
        let transport = AsyncRwTransport::new(stdout, stdin).with_max_line_length(LONGEST);
        // Dropped on failure, and with it the child.
        let helper = Mutex::new(Some(helper));
        let service = ear.serve_with_lifecycle(transport, lifecycle()).await;
        let service = service.map_err(|why| handshake(name, &why))?;
        Ok(Self { service, changed, helper })
    }

    /// Speaks to an address over streamable HTTP.
    pub(super) async fn to_address(
        name: &str,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Self, McpError> {
        let settings = |why: String| McpError::Settings { name: name.to_owned(), why };
        let mut custom = HashMap::new();
        for (key, value) in headers {
            if RESERVED.iter().any(|own| key.eq_ignore_ascii_case(own)) {
                return Err(settings(format!("the header `{key}` is the protocol's own")));
            }
            let key = key.parse().map_err(|_| settings(format!("`{key}` is no header name")))?;
            // The value may be a secret, and is not told.
            let value =
                value.parse().map_err(|_| settings(format!("the value of `{key}` is no header value")))?;
            custom.insert(key, value);
        }
        // Fails when one is installed already: then that one is meant.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        if url.starts_with("http://") {
            // Certificates that nobody asks for take long to load.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|why| settings(why.to_string()))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.custom_headers = custom;
        config.max_sse_event_size = LONGEST;
        let (ear, changed) = ear();
        let transport = StreamableHttpClientTransport::with_client(Bounded(client), config);
        let service = ear.serve_with_lifecycle(transport, lifecycle()).await;
        let service = service.map_err(|why| handshake(name, &why))?;
        Ok(Self { service, changed, helper: Mutex::new(None) })
    }

    /// The revision of the protocol that was agreed on.
    pub(super) fn revision(&self) -> Option<String> {
        self.service.peer().peer_info().map(|info| info.protocol_version.to_string())
    }

    /// Whether nothing can be said to it any more.
    pub(super) fn is_gone(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Whether it said, since the last time that this was asked, that its tools have changed.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// All of its tools, as it spells them.
    pub(super) async fn tools(&self, most: usize) -> Result<Vec<Value>, ServiceError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        // A page may be empty, but nobody turns pages for ever.
        for _ in 0..=most {
            let page = rmcp::model::PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.peer().list_tools(Some(page)).await?;
            tools.extend(page.tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > most {
                return Ok(tools);
            }
        }
        Err(ServiceError::UnexpectedResponse)
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.service.call_tool(params).await
    }

    /// Ends it, and with it everything that the server started.
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

fn ear() -> (Ear, Arc<AtomicBool>) {
    let changed = Arc::new(AtomicBool::new(false));
    (Ear { changed: Arc::clone(&changed) }, changed)
}

fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

fn handshake(name: &str, why: &ClientInitializeError) -> McpError {
    McpError::Handshake { name: name.to_owned(), why: told(why) }
}

fn told(why: &ClientInitializeError) -> String {
    match why {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => told(fallback),
        ClientInitializeError::TransportError { error, .. } => root_cause(&*error.error),
        other => brief(&other.to_string()),
    }
}

/// What went wrong with a request, without the layers that it went wrong in.
pub(super) fn reason(why: &ServiceError) -> String {
    match why {
        ServiceError::TransportSend(error) => root_cause(&*error.error),
        other => brief(&other.to_string()),
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
    brief(&deepest.to_string())
}

/// A server may have written it, at any length; an address may hold a secret.
fn brief(text: &str) -> String {
    let text = text.split(" for url (").next().unwrap_or_default();
    text.chars().take(300).collect()
}
