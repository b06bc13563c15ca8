//! What all connections of one server share.

use super::pending_approvals::PendingApprovals;
use super::policy_summary::PolicySummary;
use super::tool_list::tool_list;
use crate::executor::ToolExecutor;
use crate::hooks::CallHooks;
use picoclaw_policy::Subject;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::Redactor;
use rmcp::model::Tool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Calls that run at once, of all clients.
const MAX_CALLS: usize = 32;

/// Connections at once, including requests of clients without a session.
const MAX_CLIENTS: usize = 128;

/// The shared state of a server.
pub struct ServerState {
    pub(super) executor: ToolExecutor,
    /// On whose behalf calls run; a connection may use a session of its own.
    pub(super) subject: Subject,
    pub(super) policy_summary: PolicySummary,
    pub(super) redactor: Redactor,
    pub(super) calls: Semaphore,
    pub(super) pending: PendingApprovals,
    tools: Vec<Tool>,
    config: Arc<Config>,
    /// The hooks, started by the first call.
    call_hooks: OnceCell<Option<CallHooks>>,
    clients: Arc<Semaphore>,
    sessions: AtomicUsize,
}

impl ServerState {
    /// A server that runs calls through `executor` on behalf of `subject`.
    pub fn new(executor: ToolExecutor, config: Arc<Config>, subject: Subject) -> Arc<Self> {
        let tools = tool_list(&executor.registry());
        let names = tools.iter().map(|tool| tool.name.to_string()).collect();
        let redactor = Redactor::new(&config.secrets);
        Arc::new(Self {
            executor,
            subject,
            policy_summary: PolicySummary::new(Arc::clone(&config), names),
            config,
            call_hooks: OnceCell::new(),
            redactor,
            calls: Semaphore::new(MAX_CALLS),
            pending: PendingApprovals::default(),
            tools,
            clients: Arc::new(Semaphore::new(MAX_CLIENTS)),
            sessions: AtomicUsize::new(0),
        })
    }

    /// The tools that the policy offers, sorted by name.
    pub(super) fn offered_tools(&self) -> Vec<&Tool> {
        let policy = self.executor.warden().policy();
        self.tools.iter().filter(|tool| policy.check_tool(&tool.name, &self.subject).is_ok()).collect()
    }

    /// The hooks that apply to calls, if any are configured.
    pub(super) async fn call_hooks(&self) -> Option<&CallHooks> {
        self.call_hooks.get_or_init(async || CallHooks::new(&self.config, &self.executor)).await.as_ref()
    }

    /// Ends the hooks.
    pub async fn close(&self) {
        if let Some(Some(hooks)) = self.call_hooks.get() {
            hooks.close().await;
        }
    }

    /// A session name that no other connection has.
    pub(super) fn new_session(&self) -> String {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{number}", self.subject.session)
    }

    /// A permit for one more client, if the limit is not reached.
    pub(super) fn admit_client(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.clients).try_acquire_owned().ok()
    }
}
