//! rmcp's `ServerHandler`: turns a client's requests into calls on behalf of the server's subject.

use super::elicitation::{self, ApprovalChannel, SessionYes};
use super::http::disconnect_token;
use super::pagination::{self, PAGE_SIZE};
use super::roots::Roots;
use super::state::ServerState;
use super::{builtin_tools, progress, response};
use crate::call::{Call, Reply};
use crate::executor::Watcher;
use crate::hooks::CallHooks;
use crate::tools::{Outcome, PendingCall};
use picoclaw_policy::{Code, Layer, Origin, Refusal, Subject};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::permit::{Answer, Approval};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ElicitRequestParams, ErrorCode, ErrorData, Implementation, InitializeRequestParams, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

/// Known methods: rmcp passes them on as custom requests when their parameters are invalid.
const KNOWN_METHODS: &[&str] =
    &["initialize", "ping", "server/discover", "tools/list", "completion/complete", "logging/setLevel"];

/// How long a client has to list its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(5);

/// Characters of a client's name that the ledger keeps.
const MAX_CLIENT_NAME: usize = 64;

const INSTRUCTIONS: &str = "File tools and a shell that are confined to one workspace. Relative paths start there. \
A refusal names its rule and the smallest setting that would allow it; `policy` shows the rules, `check` asks without doing.";

/// The handler of one client, or of one request of a client without a session.
pub(super) struct ClientHandler {
    state: Arc<ServerState>,
    /// Cancelled when the client disconnects.
    disconnected: CancellationToken,
    /// The name of the client's session, if it has one.
    session: OnceLock<String>,
    /// The name that the client gave itself.
    client: OnceLock<String>,
    /// The client's roots, once they were requested; locked during the request.
    roots: Mutex<Option<Roots>>,
    _permit: OwnedSemaphorePermit,
}

/// Which session the calls of a client belong to, and so who can name its background commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionScope {
    /// The session of the process: there is one client.
    Process,
    /// A session of its own, from the handshake on.
    Handshake,
}

impl ClientHandler {
    /// `None` when the limit of clients is reached.
    pub(super) fn new(
        state: &Arc<ServerState>,
        disconnected: CancellationToken,
        scope: SessionScope,
    ) -> Option<Self> {
        let session = OnceLock::new();
        if scope == SessionScope::Process {
            let _ = session.set(state.subject.session.clone());
        }
        let permit = state.admit_client()?;
        Some(Self {
            state: Arc::clone(state),
            disconnected,
            session,
            client: OnceLock::new(),
            roots: Mutex::default(),
            _permit: permit,
        })
    }

    fn remember_client(&self, name: &str) {
        let _ = self.client.set(name.chars().take(MAX_CLIENT_NAME).collect());
    }

    fn subject(&self) -> Subject {
        let mut subject = Subject { origin: Origin::Mcp, ..self.state.subject.clone() };
        if let Some(session) = self.session.get() {
            subject.session.clone_from(session);
        }
        subject.on_behalf_of(format!("mcp:{}", self.client.get().map_or("unknown", String::as_str)))
    }

    async fn handle_call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        halt: &CancelToken,
    ) -> CallToolResponse {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut call = Call { tool: request.name.into_owned(), arguments, subject: self.subject() };
        let roots = self.roots(context).await;
        if builtin_tools::is_builtin(&call.tool) {
            return self.run_builtin(call, roots).await.into();
        }
        let warden = self.state.executor.warden();
        if let Some(no) = roots.check_call(&call.tool, &mut call.arguments, warden, &call.subject) {
            return response::refusal_result(&warden.refuse_call(&call.tool, &call.subject, no)).into();
        }
        if let Some(ticket) = &request.request_state {
            let answer = elicitation::answer_of_retry(request.input_responses.as_ref());
            return match self.state.pending.take(ticket) {
                Some(pending) if pending.belongs_to(&call) => {
                    self.continue_call(pending.asked, call, Some(answer), context, halt).await.into()
                }
                _ => {
                    let refusal = warden.refuse_call(&call.tool, &call.subject, no_pending_question());
                    response::refusal_result(&refusal).into()
                }
            };
        }
        let original = call.clone();
        if let Some(hooks) = self.state.call_hooks().await {
            call = match hooks.before(call).await {
                Ok(call) => call,
                Err(reply) => return response::reply_result(&original.tool, reply).into(),
            };
            // The roots apply to the changed call as well.
            if let Some(no) = roots.check_call(&call.tool, &mut call.arguments, warden, &call.subject) {
                return response::refusal_result(&warden.refuse_call(&call.tool, &call.subject, no)).into();
            }
        }
        self.run_call(call, original, context, halt).await
    }

    /// Runs a call. `original` is the call as the client sent it, and as a retry repeats it.
    async fn run_call(
        &self,
        call: Call,
        original: Call,
        context: &RequestContext<RoleServer>,
        halt: &CancelToken,
    ) -> CallToolResponse {
        let started = Instant::now();
        let run = |watcher| self.state.executor.call(call.clone(), halt, watcher);
        match self.with_progress(context, run).await {
            Outcome::Reply(reply) => self.review(&call, reply, started.elapsed()).await.into(),
            Outcome::NeedsApproval(asked) => self.ask(asked, original, context, halt).await,
        }
    }

    /// Shows the reply to the hooks: what the client is told.
    async fn review(&self, call: &Call, reply: Reply, took: Duration) -> CallToolResult {
        let reply = match self.state.call_hooks().await {
            None => reply,
            Some(hooks) => hooks.after(call, reply, took).await,
        };
        response::reply_result(&call.tool, reply)
    }

    /// Refuses and records a call whose arguments are not an object.
    async fn refuse_invalid_call(&self, params: Option<Value>) -> Result<CallToolResult, ErrorData> {
        let invalid = || ErrorData::invalid_params("the parameters of `tools/call` do not fit", None);
        let mut params = params.ok_or_else(invalid)?;
        let arguments = params.get_mut("arguments").map(Value::take).filter(|given| !given.is_object());
        let (Some(tool), Some(arguments)) = (params.get("name").and_then(Value::as_str), arguments) else {
            return Err(invalid());
        };
        let call = Call { tool: tool.to_owned(), arguments, subject: self.subject() };
        if builtin_tools::is_builtin(tool) {
            return Ok(self.run_builtin(call, Roots::default()).await);
        }
        match self.state.executor.call(call, &CancelToken::new(), progress::unwatched()).await {
            Outcome::Reply(reply) => Ok(response::reply_result(tool, reply)),
            Outcome::NeedsApproval(_) => Err(invalid()),
        }
    }

    /// Asks the client's user for approval, and continues the call.
    async fn ask(
        &self,
        asked: PendingCall,
        call: Call,
        context: &RequestContext<RoleServer>,
        halt: &CancelToken,
    ) -> CallToolResponse {
        match ApprovalChannel::of(context) {
            ApprovalChannel::Unavailable => self.continue_call(asked, call, None, context, halt).await.into(),
            ApprovalChannel::Elicitation => {
                let answer = match self.form(&asked) {
                    Some(form) => elicitation::elicit(form, context).await,
                    None => None,
                };
                self.continue_call(asked, call, answer, context, halt).await.into()
            }
            ApprovalChannel::Retry => match self.require_input(asked, &call) {
                Ok(result) => result,
                Err(asked) => self.continue_call(*asked, call, None, context, halt).await.into(),
            },
        }
    }

    fn form(&self, asked: &PendingCall) -> Option<ElicitRequestParams> {
        let session = self.session.get().map_or(SessionYes::Unknown, |_| SessionYes::Offered);
        elicitation::form(asked, session, &self.state.redactor)
    }

    /// Lets a question wait for the client's retry; it expires unanswered.
    fn require_input(&self, asked: PendingCall, call: &Call) -> Result<CallToolResponse, Box<PendingCall>> {
        let Some(form) = self.form(&asked) else { return Err(Box::new(asked)) };
        let ticket = self.state.pending.add(asked, call)?;
        let result = elicitation::input_required(form, ticket.clone());
        let (state, subject) = (Arc::clone(&self.state), call.subject.clone());
        tokio::spawn(async move {
            tokio::time::sleep(elicitation::ANSWER_TIMEOUT).await;
            if let Some(pending) = state.pending.take(&ticket) {
                let (halt, watcher) = (CancelToken::new(), progress::unwatched());
                state.executor.answer(pending.asked, subject, None, &halt, watcher).await;
            }
        });
        Ok(result.into())
    }

    /// Continues a call that needed approval; `None` when no person could be asked.
    async fn continue_call(
        &self,
        asked: PendingCall,
        call: Call,
        answer: Option<Answer>,
        context: &RequestContext<RoleServer>,
        halt: &CancelToken,
    ) -> CallToolResult {
        // A request without a session stands for itself: no other client's answer serves it.
        let answer = answer.map(|answer| match answer.approval {
            Approval::Session if self.session.get().is_none() => {
                Answer { approval: Approval::Once, ..answer }
            }
            _ => answer,
        });
        // A hook may have changed the call that the client sent.
        let (tool, arguments) = (asked.tool().to_owned(), asked.act().arguments.clone());
        let (call, started) = (Call { tool, arguments, ..call }, Instant::now());
        let run = |watcher| self.state.executor.answer(asked, call.subject.clone(), answer, halt, watcher);
        let reply = self.with_progress(context, run).await;
        self.review(&call, reply, started.elapsed()).await
    }

    /// Runs `work` and sends its output as progress, where the client has asked for it and no hook
    /// has to see the result first.
    async fn with_progress<T, F: Future<Output = T>>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(Watcher) -> F,
    ) -> T {
        let hooks = self.state.call_hooks().await;
        match context.meta.get_progress_token().filter(|_| !hooks.is_some_and(CallHooks::review_results)) {
            None => work(progress::unwatched()).await,
            Some(token) => {
                let (watcher, sender) = progress::watched(context.peer.clone(), token);
                tokio::join!(work(watcher), sender.run()).0
            }
        }
    }

    /// Runs `check` or `policy`.
    async fn run_builtin(&self, call: Call, roots: Roots) -> CallToolResult {
        let state = Arc::clone(&self.state);
        let done = tokio::task::spawn_blocking(move || {
            let result = builtin_tools::run(&call, state.executor.warden(), &state.policy_summary, &roots);
            result.map(|result| {
                let redact = |text: &str| state.redactor.clean(text).into_owned();
                let structured = serde_json::from_str(&redact(&result.structured.to_string()));
                response::success(redact(&result.text), structured.unwrap_or(Value::Null))
            })
        });
        match done.await {
            Ok(Ok(result)) => result,
            Ok(Err(refusal)) => response::refusal_result(&refusal),
            Err(_) => response::reply_result("", Reply::Failed("the tool crashed".to_owned())),
        }
    }

    /// The client's roots, requested with its first call.
    async fn roots(&self, context: &RequestContext<RoleServer>) -> Roots {
        let mut known = self.roots.lock().await;
        if let Some(roots) = &*known {
            return roots.clone();
        }
        let roots = self.request_roots(context).await.unwrap_or_default();
        known.insert(roots).clone()
    }

    #[expect(deprecated, reason = "clients of the revisions that have roots still send them")]
    async fn request_roots(&self, context: &RequestContext<RoleServer>) -> Option<Roots> {
        // The revision without a handshake has no roots.
        let client = context.peer.peer_info()?;
        client.capabilities.roots.as_ref()?;
        let listed = tokio::time::timeout(ROOTS_TIMEOUT, context.peer.list_roots()).await.ok()?.ok()?;
        let policy = self.state.executor.warden().policy();
        let zones = &policy.agents.get(&self.state.subject.agent)?.zones;
        Some(Roots::parse(listed.roots.iter().map(|root| root.uri.as_str()), zones))
    }
}

impl ServerHandler for ClientHandler {
    fn get_info(&self) -> ServerConfig {
        let mut server = Implementation::new("picoclaw", env!("CARGO_PKG_VERSION"));
        server.title = Some("picoclaw: sandboxed tools".to_owned());
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let _ = self.session.set(self.state.new_session());
        self.remember_client(&request.client_info.name);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        pagination::page(&self.state.offered_tools(), cursor.as_deref(), PAGE_SIZE)
            .ok_or_else(|| ErrorData::invalid_params("the cursor is not one of this listing's", None))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.state.offered_tools().into_iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The revision without a handshake names the client in each request.
        if let Some(client) = context.meta.client_info() {
            self.remember_client(&client.name);
        }
        let (halt, http_disconnected) = (CancelToken::new(), disconnect_token(&context.extensions));
        let cancelled = async {
            tokio::select! {
                () = context.ct.cancelled() => {}
                () = self.disconnected.cancelled() => {}
                () = http_disconnected.cancelled() => {}
            }
        };
        let work = async {
            let _permit = self.state.calls.acquire().await;
            self.handle_call(request, &context, &halt).await
        };
        tokio::pin!(work);
        tokio::select! {
            biased;
            // A cancelled call is still awaited: it keeps its permit until its last child has
            // ended.
            () = cancelled => {
                halt.cancel();
                Ok(work.await)
            }
            response = &mut work => Ok(response),
        }
    }

    /// Handles unknown methods, and known ones with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        if method == "tools/call" {
            let mut result = self.refuse_invalid_call(request.params).await?;
            // Only the revision without a handshake has `resultType`.
            if context.peer.peer_info().is_some() {
                result.result_type = None;
            }
            let value = serde_json::to_value(result);
            return value
                .map(CustomResult::new)
                .map_err(|why| ErrorData::internal_error(why.to_string(), None));
        }
        if KNOWN_METHODS.contains(&method) {
            return Err(ErrorData::invalid_params(format!("the parameters of `{method}` do not fit"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None))
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        *self.roots.lock().await = None;
    }
}

impl Drop for ClientHandler {
    /// Ends the background commands of a session that no other client can name.
    fn drop(&mut self) {
        let subject = self.subject();
        if subject.session != self.state.subject.session {
            let registry = self.state.executor.registry();
            std::thread::spawn(move || registry.end_session(&subject));
        }
    }
}

/// The refusal of a retry without a pending question: answered, expired, or of another call.
fn no_pending_question() -> Refusal {
    Refusal {
        code: Code::NotApproved,
        sentence: "the answer belongs to no question that waits".to_owned(),
        rule: "approval".to_owned(),
        layer: Layer::Approver,
        hint: format!(
            "a question waits for {} seconds and for the same call alone; call again without `requestState`",
            elicitation::ANSWER_TIMEOUT.as_secs()
        ),
    }
}
