//! One tool of a server's, among ours.
//!
//! Invariant: judged and recorded like every call; a long answer goes to a file in the agent's own workspace.

use super::error::McpError;
use super::naming::tool_name;
use super::results::{head, text_of};
use super::schema;
use super::server::Server;
use crate::call::Reply;
use crate::tools::{Arguments, Outcome, Tool, ToolContext};
use picoclaw_policy::{Access, ConsultIntent};
use picoclaw_sandbox::files::{self, Write};
use picoclaw_sandbox::guest::Consult;
use picoclaw_sandbox::root::Overwrite;
use picoclaw_sandbox::warden::Admission;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Where long answers go, in the workspace.
const ARTIFACTS: &str = ".artifacts/mcp";

/// A tool of a server's.
pub(super) struct McpTool {
    name: String,
    about: String,
    theirs: String,
    schema: Value,
    server: Arc<Server>,
    most: usize,
    runtime: Handle,
}

impl McpTool {
    /// From the description that the server gave. Called inside the runtime that the server lives in.
    pub(super) fn new(server: &Arc<Server>, described: &Value, most: usize) -> Option<Self> {
        let theirs = described.get("name")?.as_str()?.to_owned();
        let said = described.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = described.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
        Some(Self {
            name: tool_name(server.name(), &theirs),
            about: format!("[MCP:{}] {said}", server.name()),
            theirs,
            schema,
            server: Arc::clone(server),
            most,
            runtime: Handle::current(),
        })
    }

    fn told(&self, text: String, visit: &ToolContext<'_>) -> String {
        if text.chars().nth(self.most).is_none() {
            return text;
        }
        match self.keep(&text, visit) {
            Ok(path) => format!(
                "{}\n[the answer has {} characters; all of it is in the file {path}]\n[file:{path}]",
                head(&text, self.most),
                text.chars().count()
            ),
            Err(why) => format!(
                "{}\n[cut: the answer is too long, and could not be kept: {why}]",
                head(&text, self.most)
            ),
        }
    }

    /// Puts a long answer into the agent's workspace, as a write of the agent's own.
    fn keep(&self, text: &str, visit: &ToolContext<'_>) -> Result<String, String> {
        let digest: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = format!("{ARTIFACTS}/{}-{digest}.txt", self.name);
        let sought = visit
            .warden
            .seek(Access::Write, Path::new(&path), visit.subject)
            .map_err(|why| why.to_string())?;
        match visit.warden.admit(&self.name, visit.subject, Write(sought)) {
            Admission::Permit(permit) => {
                files::write(permit, text.as_bytes(), Overwrite::Yes, visit.warden.files())
                    .map_err(|why| why.to_string())?;
                Ok(path)
            }
            Admission::Refusal(refusal) => Err(refusal.sentence),
            Admission::Pending(pending) => Err(visit.warden.unanswered(*pending).sentence),
        }
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

    fn run(&self, arguments: &Arguments<'_>, visit: &ToolContext<'_>) -> Outcome {
        let given = arguments.all().clone();
        let intent = ConsultIntent {
            server: self.server.name().to_owned(),
            tool: self.theirs.clone(),
            arguments: Value::Object(given.clone()).to_string(),
        };
        let permit = match visit.warden.admit(&self.name, visit.subject, Consult(intent)) {
            Admission::Permit(permit) => permit,
            Admission::Refusal(refusal) => return Reply::Refused(refusal).into(),
            Admission::Pending(pending) => {
                return Reply::NeedsApproval(visit.warden.unanswered(*pending)).into();
            }
        };
        let answered =
            permit.consult(|_| self.runtime.block_on(self.server.call(&self.theirs, given, visit.halt)));
        match answered {
            Ok(result) => {
                let text = self.told(text_of(&result), visit);
                if result.is_error.unwrap_or(false) {
                    Reply::Failed(format!("MCP tool returned error: {text}")).into()
                } else {
                    Reply::Done(if text.is_empty() { "(no output)".to_owned() } else { text }).into()
                }
            }
            Err(McpError::Refused { message }) => {
                Reply::Failed(format!("MCP tool returned error: {message}")).into()
            }
            Err(why) => Reply::Failed(format!("MCP tool execution failed: {why}")).into(),
        }
    }
}
