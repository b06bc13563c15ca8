//! A server's tool in the registry. Its calls are judged and recorded like every other; a long
//! result goes to a file in the agent's workspace.

use super::error::McpError;
use super::result_text::result_text;
use super::schema;
use super::server::Server;
use super::tool_names::{offered_name, spelled_name, tool_name};
use crate::call::Reply;
use crate::tools::{Arguments, Outcome, Tool, ToolContext};
use data_encoding::HEXLOWER;
use picoclaw_policy::{Access, McpCallIntent};
use picoclaw_sandbox::effects::McpCall;
use picoclaw_sandbox::files::{self, Write};
use picoclaw_sandbox::first_chars;
use picoclaw_sandbox::root::Overwrite;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;

/// The directory of long results in the workspace.
const ARTIFACTS_DIR: &str = ".artifacts/mcp";

/// A tool of a server.
pub(super) struct McpTool {
    name: String,
    about: String,
    /// The server's own name for it.
    server_name: String,
    schema: Value,
    server: Arc<Server>,
    /// Characters of a result that the model receives directly.
    max_inline: usize,
    runtime: Handle,
}

impl McpTool {
    /// From the server's description. Must be called inside the runtime of the connection.
    pub(super) fn new(
        server: &Arc<Server>,
        described: &Value,
        max_inline: usize,
        servers: &[String],
    ) -> Option<Self> {
        let server_name = described.get("name")?.as_str()?.to_owned();
        let about = described.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = described.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
        Some(Self {
            name: offered_name(server.name(), &server_name, servers),
            about: format!("[MCP:{}] {about}", server.name()),
            server_name,
            schema,
            server: Arc::clone(server),
            max_inline,
            runtime: Handle::current(),
        })
    }

    /// The name in the characters that names have, which another tool may share.
    pub(super) fn spelled_name(&self) -> String {
        spelled_name(self.server.name(), &self.server_name)
    }

    /// Why it is not offered under the name that it would have alone, or that it shares.
    pub(super) fn renamed(&self, is_shared: bool) -> Option<String> {
        let alone = tool_name(self.server.name(), &self.server_name);
        let spelled = self.spelled_name();
        let (other, why) = match is_shared && spelled != self.name {
            true => (spelled, "could name another tool"),
            false => (alone, "would name a tool of another server"),
        };
        (other != self.name).then(|| {
            format!(
                "MCP tool `{}` of server `{}` is offered as `{}`: `{other}` {why}",
                self.server_name,
                self.server.name(),
                self.name
            )
        })
    }

    /// The text, or its beginning and the file with all of it.
    fn inline_text(&self, text: String, context: &ToolContext<'_>) -> String {
        if text.chars().nth(self.max_inline).is_none() {
            return text;
        }
        match self.save(&text, context) {
            Ok(path) => format!(
                "{}\n[the answer has {} characters; all of it is in the file {path}]\n[file:{path}]",
                first_chars(&text, self.max_inline),
                text.chars().count()
            ),
            Err(why) => format!(
                "{}\n[cut: the answer is too long, and could not be kept: {why}]",
                first_chars(&text, self.max_inline)
            ),
        }
    }

    /// Writes a long result to the agent's workspace, as a write of the agent.
    fn save(&self, text: &str, context: &ToolContext<'_>) -> Result<String, String> {
        let digest = HEXLOWER.encode(&Sha256::digest(text));
        let path = format!("{ARTIFACTS_DIR}/{}-{}.txt", self.name, &digest[..16]);
        let target = context
            .warden
            .locate(Access::Write, Path::new(&path), context.subject)
            .map_err(|why| why.to_string())?;
        let permit = context.admit(&self.name, Write(target)).map_err(|reply| reply.sentence())?;
        files::write(permit, text.as_bytes(), Overwrite::Yes, context.warden.files())
            .map_err(|why| why.to_string())?;
        Ok(path)
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        let arguments = Arguments::any(arguments)?;
        schema::check(&self.schema, arguments.all())?;
        Ok(arguments)
    }

    fn is_deferred(&self) -> bool {
        self.server.is_deferred()
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let given = arguments.all().clone();
        let intent = McpCallIntent {
            server: self.server.name().to_owned(),
            tool: self.server_name.clone(),
            arguments: Value::Object(given.clone()).to_string(),
        };
        let permit = match context.admit(&self.name, McpCall(intent)) {
            Ok(permit) => permit,
            Err(reply) => return reply.into(),
        };
        let answered =
            permit.call(|_| self.runtime.block_on(self.server.call(&self.server_name, given, context.halt)));
        match answered {
            Ok(result) => {
                let text = self.inline_text(result_text(&result), context);
                if result.is_error.unwrap_or(false) {
                    Reply::Failed(format!("MCP tool returned error: {text}")).into()
                } else {
                    Reply::Done(if text.is_empty() { "(no output)".to_owned() } else { text }).into()
                }
            }
            Err(McpError::Refused { message }) => {
                Reply::Failed(format!("MCP tool returned error: {message}")).into()
            }
            Err(why) => {
                if !matches!(why, McpError::Halted) {
                    tracing::warn!(target: "mcp", server = %self.server.name(), tool = %self.server_name, error = %why, "A call of a server failed");
                }
                Reply::Failed(format!("MCP tool execution failed: {why}")).into()
            }
        }
    }
}
