//! Hooks of calls that belong to no turn: `picoclaw tool`, clients of the MCP server.

use super::turn_hooks::{HookOutcome, TurnHooks};
use super::{HookEvent, Hooks};
use crate::call::{Call, Reply};
use crate::executor::ToolExecutor;
use picoclaw_policy::config::Config;
use picoclaw_policy::{Origin, Subject};
use std::sync::Arc;
use std::time::Duration;

/// The hooks of a program that has calls and no turns. A call that a hook denies, or that no hook could be asked about,
/// is refused and recorded.
pub struct CallHooks {
    hooks: Arc<Hooks>,
    executor: ToolExecutor,
}

impl CallHooks {
    /// The configuration's hooks, for calls through this executor; `None` when there are none. Must be called inside a
    /// runtime.
    pub fn of(config: &Config, executor: &ToolExecutor) -> Option<Self> {
        let subject = Subject::root(Origin::Hook, config.default_agent.clone(), "hooks");
        let hooks = Hooks::new(&config.hooks, executor.warden(), &subject);
        (!hooks.is_empty()).then(|| Self { hooks: Arc::new(hooks), executor: executor.clone() })
    }

    /// Asks the hooks about a call: the call as they leave it, or the reply that it already has.
    pub async fn before(&self, call: Call) -> Result<Call, Reply> {
        if let Err(error) = self.hooks.ready().await {
            return Err(self.deny(call, &error.to_string()).await);
        }
        let hooks = self.of_call(&call);
        match hooks.before_tool(0, &call.tool, call.arguments.clone()).await {
            // There is no turn to end, so the call is denied.
            Err(abort) => Err(self.deny(call, &abort.to_string()).await),
            Ok(HookOutcome::Denied(sentence)) => Err(self.executor.deny_by_hook(call, sentence).await),
            Ok(HookOutcome::Answered(reply)) => Err(self.executor.answered_by_hook(call, reply).await),
            Ok(HookOutcome::Proceed { tool, arguments }) => {
                hooks.tell(&HookEvent::tool_start("", &tool, &arguments));
                Ok(Call { tool, arguments, ..call })
            }
        }
    }

    /// Shows the reply to the hooks; the result is what the caller is told.
    pub async fn after(&self, call: &Call, reply: Reply, took: Duration) -> Reply {
        let hooks = self.of_call(call);
        let reply = match hooks.after_tool(0, &call.tool, &call.arguments, reply, took).await {
            Ok(reply) => reply.map_text(|text| self.executor.registry().clean(text)),
            Err(abort) => Reply::Failed(abort.to_string()),
        };
        hooks.tell(&HookEvent::tool_end("", &call.tool, &reply, took));
        reply
    }

    /// Gives the hooks time to exit.
    pub async fn close(&self) {
        self.hooks.close().await;
    }

    fn of_call(&self, call: &Call) -> TurnHooks {
        TurnHooks::new(Arc::clone(&self.hooks), &call.subject, None)
    }

    async fn deny(&self, call: Call, why: &str) -> Reply {
        self.executor.deny_by_hook(call, format!("Tool execution denied by hook: {why}")).await
    }
}
