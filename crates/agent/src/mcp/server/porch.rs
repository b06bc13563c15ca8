//! The porch: what one client says, as calls on behalf of the server's subject.
//!
//! Invariant: every call passes the hall; a client decides nothing but what it asks.

use super::approval::{self, Way};
use super::client::Client;
use super::premises::{Premises, Seat};
use super::progress;
use super::roots::Roots;
use super::running::Running;
use super::{answer, cursor, served};
use crate::call::{Call, Reply};
use crate::executor::Watcher;
use crate::tools::{Outcome, PendingCall};
use picoclaw_policy::{Code, Layer, Origin, Refusal, Subject};
use picoclaw_sandbox::launch::Halt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Methods that are known: under these names, parameters that do not fit are the fault.
const KNOWN: &[&str] =
    &["initialize", "ping", "server/discover", "tools/list", "completion/complete", "logging/setLevel"];

/// How long a client has to name its roots.
const ROOTS: Duration = Duration::from_secs(5);

const INSTRUCTIONS: &str = "File tools and a shell that are confined to one workspace. Relative paths start there. \
A refusal names its rule and the smallest setting that would allow it; `policy` shows the rules, `check` asks without doing.";

/// One client, or one request of a client without a connection.
pub(super) struct Porch {
    premises: Arc<Premises>,
    running: Running,
    /// The session of a client that has one.
    session: OnceLock<String>,
    client: Arc<Client>,
    _seat: Seat,
}

/// How long a client's session lasts, and so who can name its background commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tenure {
    /// As long as the process: there is one client.
    Process,
    /// A handshake begins a session of its own.
    Handshake,
}

impl Porch {
    pub(super) fn new(
        premises: &Arc<Premises>,
        client: Arc<Client>,
        running: Running,
        tenure: Tenure,
    ) -> Option<Self> {
        let session = OnceLock::new();
        if tenure == Tenure::Process {
            let _ = session.set(premises.subject.session.clone());
        }
        let seat = premises.seat()?;
        Some(Self { premises: Arc::clone(premises), running, session, client, _seat: seat })
    }

    fn subject(&self) -> Subject {
        let mut subject = Subject { origin: Origin::Mcp, ..self.premises.subject.clone() };
        if let Some(session) = self.session.get() {
            subject.session.clone_from(session);
        }
        subject
    }

    /// One call, from its name to its result.
    async fn serve(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        halt: &Halt,
    ) -> CallToolResponse {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut call = Call { tool: request.name.into_owned(), arguments, subject: self.subject() };
        let roots = self.roots(context).await;
        if [served::CHECK, served::POLICY].contains(&call.tool.as_str()) {
            return self.look(call, roots).await.into();
        }
        let warden = self.premises.hall.warden();
        if let Some(no) = roots.narrow(&call.tool, &mut call.arguments, warden, &call.subject) {
            return answer::refused(&warden.turn_away(&call.tool, &call.subject, no)).into();
        }
        if let Some(ticket) = &request.request_state {
            let said = approval::brought(request.input_responses.as_ref());
            return match self.premises.waiting.leave(ticket) {
                Some(waiting) if waiting.belongs_to(&call) => {
                    self.go_on(waiting.asked, call, Some(said), context, halt).await.into()
                }
                other => {
                    drop(other);
                    answer::refused(&warden.turn_away(&call.tool, &call.subject, not_asked())).into()
                }
            };
        }
        match self.premises.attendance().await {
            None => self.call(call.clone(), call, context, halt).await,
            Some(attendance) => {
                let spelled = call.clone();
                match attendance.before(call).await {
                    Err(reply) => answer::of_reply(&spelled.tool, reply).into(),
                    // What a hook made of it is held to the client's roots like what the client made of it.
                    Ok(mut call) => {
                        match roots.narrow(&call.tool, &mut call.arguments, warden, &call.subject) {
                            Some(no) => {
                                answer::refused(&warden.turn_away(&call.tool, &call.subject, no)).into()
                            }
                            None => self.call(call, spelled, context, halt).await,
                        }
                    }
                }
            }
        }
    }

    /// Runs a call; `spelled` is as its client wrote it, and as the client will bring it again.
    async fn call(
        &self,
        call: Call,
        spelled: Call,
        context: &RequestContext<RoleServer>,
        halt: &Halt,
    ) -> CallToolResponse {
        let (copy, began) = (call.clone(), Instant::now());
        let outcome = self.watched(context, |watcher| self.premises.hall.call(call, halt, watcher)).await;
        match outcome {
            Outcome::Reply(reply) => {
                let reply = match self.premises.attendance().await {
                    None => reply,
                    Some(attendance) => attendance.after(&copy, reply, began.elapsed()).await,
                };
                answer::of_reply(&copy.tool, reply).into()
            }
            Outcome::NeedsApproval(asked) => self.ask(asked, spelled, context, halt).await,
        }
    }

    /// A call whose arguments are no object is refused like any other misfit, and recorded.
    async fn turn_away(&self, params: Option<Value>) -> Result<CallToolResult, ErrorData> {
        let misfit = || ErrorData::invalid_params("the parameters of `tools/call` do not fit", None);
        let mut params = params.ok_or_else(misfit)?;
        let arguments = params.get_mut("arguments").map(Value::take).filter(|given| !given.is_object());
        let (Some(tool), Some(arguments)) = (params.get("name").and_then(Value::as_str), arguments) else {
            return Err(misfit());
        };
        let call = Call { tool: tool.to_owned(), arguments, subject: self.subject() };
        if [served::CHECK, served::POLICY].contains(&tool) {
            return Ok(self.look(call, Roots::default()).await);
        }
        match self.premises.hall.call(call, &Halt::new(), progress::unwatched()).await {
            Outcome::Reply(reply) => Ok(answer::of_reply(tool, reply)),
            Outcome::NeedsApproval(_) => Err(misfit()),
        }
    }

    /// Puts a question to the client, in the way that it offers.
    async fn ask(
        &self,
        asked: PendingCall,
        call: Call,
        context: &RequestContext<RoleServer>,
        halt: &Halt,
    ) -> CallToolResponse {
        match Way::of(context) {
            Way::Nobody => self.go_on(asked, call, None, context, halt).await.into(),
            Way::Elicitation => {
                let said = match approval::form(&asked) {
                    Some(form) => approval::elicit(form, context).await,
                    None => None,
                };
                self.go_on(asked, call, said, context, halt).await.into()
            }
            Way::Retry => match self.let_wait(asked, &call) {
                Ok(result) => result,
                Err(asked) => self.go_on(*asked, call, None, context, halt).await.into(),
            },
        }
    }

    /// Lets a question wait for the client's retry; nobody answers it after its time.
    fn let_wait(&self, asked: PendingCall, call: &Call) -> Result<CallToolResponse, Box<PendingCall>> {
        let Some(mut result) = approval::input_required(&asked, String::new()) else {
            return Err(Box::new(asked));
        };
        let ticket = self.premises.waiting.enter(asked, call)?;
        result.request_state = Some(ticket.clone());
        let (premises, subject) = (Arc::clone(&self.premises), call.subject.clone());
        tokio::spawn(async move {
            tokio::time::sleep(approval::TIME).await;
            if let Some(waiting) = premises.waiting.leave(&ticket) {
                let (halt, watcher) = (Halt::new(), progress::unwatched());
                premises.hall.answer(waiting.asked, subject, None, &halt, watcher).await;
            }
        });
        Ok(result.into())
    }

    /// Goes on with a call that asked.
    async fn go_on(
        &self,
        asked: PendingCall,
        call: Call,
        said: Option<picoclaw_sandbox::approver::Answer>,
        context: &RequestContext<RoleServer>,
        halt: &Halt,
    ) -> CallToolResult {
        let said = said.map(|answer| (answer, approval::BY.to_owned()));
        let reply = self
            .watched(context, |watcher| self.premises.hall.answer(asked, call.subject, said, halt, watcher))
            .await;
        answer::of_reply(&call.tool, reply)
    }

    /// Runs `work` with the client listening, where it wants to.
    async fn watched<T, F: Future<Output = T>>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(Watcher) -> F,
    ) -> T {
        match context.meta.get_progress_token() {
            None => work(progress::unwatched()).await,
            Some(token) => {
                let (watcher, pump) = progress::watched(context.peer.clone(), token);
                tokio::join!(work(watcher), pump.run()).0
            }
        }
    }

    /// `check` and `policy`: looking, on a thread that may block.
    async fn look(&self, call: Call, roots: Roots) -> CallToolResult {
        let premises = Arc::clone(&self.premises);
        let looked = tokio::task::spawn_blocking(move || {
            let said = served::run(&call, premises.hall.warden(), &premises.charter, &roots);
            said.map(|said| {
                let clean = |text: &str| premises.redactor.clean(text).into_owned();
                let structured = serde_json::from_str(&clean(&said.structured.to_string()));
                answer::told(clean(&said.text), structured.unwrap_or(Value::Null))
            })
        });
        match looked.await {
            Ok(Ok(result)) => result,
            Ok(Err(refusal)) => answer::refused(&refusal),
            Err(_) => answer::of_reply("", Reply::Failed("the tool crashed".to_owned())),
        }
    }

    /// The roots of the client, asked for with its first call.
    async fn roots(&self, context: &RequestContext<RoleServer>) -> Roots {
        let mut known = self.client.roots().await;
        if let Some(roots) = &*known {
            return roots.clone();
        }
        let roots = self.ask_for_roots(context).await.unwrap_or_default();
        known.insert(roots).clone()
    }

    #[expect(deprecated, reason = "clients of the revisions that have roots still send them")]
    async fn ask_for_roots(&self, context: &RequestContext<RoleServer>) -> Option<Roots> {
        // Only a client with a handshake can be asked; the later revision has dropped roots.
        let offers = context.peer.peer_info()?;
        offers.capabilities.roots.as_ref()?;
        let listed = tokio::time::timeout(ROOTS, context.peer.list_roots()).await.ok()?.ok()?;
        let policy = self.premises.hall.warden().policy();
        let zones = &policy.agents.get(&self.premises.subject.agent)?.zones;
        Some(Roots::read(listed.roots.iter().map(|root| root.uri.as_str()), zones))
    }
}

impl ServerHandler for Porch {
    fn get_info(&self) -> ServerConfig {
        let mut this = Implementation::new("picoclaw", env!("CARGO_PKG_VERSION"));
        this.title = Some("picoclaw: sandboxed tools".to_owned());
        let offers = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(offers).with_server_info(this).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let _ = self.session.set(self.premises.fresh_session());
        self.client.greeted(&request.protocol_version);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        cursor::page(&self.premises.offered(), cursor.as_deref(), cursor::PAGE)
            .ok_or_else(|| ErrorData::invalid_params("the cursor is not one of this listing's", None))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.premises.offered().into_iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let halt = super::http::halt_of(&context.extensions).unwrap_or_default();
        let _place = self.running.enter(&halt);
        let cancelled = context.ct.clone();
        let work = async {
            let _call = self.premises.calls.acquire().await;
            self.serve(request, &context, &halt).await
        };
        tokio::pin!(work);
        tokio::select! {
            response = &mut work => Ok(response),
            // The call is told to stop, and still waited for: its place is taken until its last child is gone.
            () = cancelled.cancelled() => {
                halt.raise();
                Ok(work.await)
            }
        }
    }

    /// A request that nobody knows, or one that everybody knows with parameters that do not fit.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        if method == "tools/call" {
            let mut result = self.turn_away(request.params).await?;
            // Only the revision without a handshake names the kind of a result.
            if context.peer.peer_info().is_some() {
                result.result_type = None;
            }
            let value = serde_json::to_value(result);
            return value
                .map(CustomResult::new)
                .map_err(|why| ErrorData::internal_error(why.to_string(), None));
        }
        if KNOWN.contains(&method) {
            return Err(ErrorData::invalid_params(format!("the parameters of `{method}` do not fit"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None))
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        *self.client.roots().await = None;
    }
}

impl Drop for Porch {
    /// A client with a session of its own takes its background commands with it; nobody else can name them.
    fn drop(&mut self) {
        let subject = self.subject();
        if subject.session != self.premises.subject.session {
            let registry = self.premises.hall.registry();
            std::thread::spawn(move || registry.end_session(&subject));
        }
    }
}

/// A retry for which no question waits: answered before, out of time, or of another call.
fn not_asked() -> Refusal {
    Refusal {
        code: Code::NotApproved,
        sentence: "the answer belongs to no question that waits".to_owned(),
        rule: "approval".to_owned(),
        layer: Layer::Approver,
        hint: format!(
            "a question waits for {} seconds and for the same call alone; call again without `requestState`",
            approval::TIME.as_secs()
        ),
    }
}
