//! Hooks for calls outside a turn: those of `picoclaw tool` and of MCP clients.

use super::{Decision, HookEvent, Hooks, Meta, ToolDecision};
use crate::call::{Call, Reply};
use crate::executor::ToolExecutor;
use picoclaw_policy::config::Config;
use picoclaw_policy::{Origin, Subject};
use std::fmt::Display;
use std::time::Duration;

/// The configured hooks, applied to single calls.
pub struct CallHooks {
    hooks: Hooks,
    executor: ToolExecutor,
}

impl CallHooks {
    /// The configured hooks; `None` when there are none. Must be called inside a runtime.
    pub fn new(config: &Config, executor: &ToolExecutor) -> Option<Self> {
        let subject = Subject::root(Origin::Hook, config.default_agent.clone(), "hooks");
        let hooks = Hooks::new(&config.hooks, executor.warden(), &subject);
        (!hooks.is_empty()).then(|| Self { hooks, executor: executor.clone() })
    }

    /// Runs the hooks before a call: the call, possibly changed, or the reply that replaces it.
    pub async fn before(&self, call: Call) -> Result<Call, Reply> {
        if let Err(why) = self.hooks.start_all().await {
            return Err(self.deny(call, why).await);
        }
        let meta = Meta::new(&call.subject, None);
        match self.hooks.check_call(&meta, &call.tool, &call.arguments).await {
            // Without a turn to end, the call is refused.
            ToolDecision::AbortTurn(why) => Err(self.deny(call, ended(&why)).await),
            ToolDecision::HardAbort(why) => Err(self.deny(call, undone(&why)).await),
            ToolDecision::Deny(sentence) => Err(self.executor.deny_by_hook(call, sentence).await),
            ToolDecision::Respond { reply, .. } => {
                Err(self.executor.answered_by_hook(call, reply.into()).await)
            }
            ToolDecision::Proceed { tool, arguments } => {
                let call = Call { tool, arguments, ..call };
                self.hooks.notify(&HookEvent::tool_started("", &call.tool, &call.arguments), &meta);
                Ok(call)
            }
        }
    }

    /// Runs the hooks after a call: the reply for the caller.
    pub async fn after(&self, call: &Call, reply: Reply, took: Duration) -> Reply {
        let meta = Meta::new(&call.subject, None);
        let reply = match self.hooks.review_reply(&meta, &call.tool, &call.arguments, reply, took).await {
            Decision::Proceed(reply) => reply.map_text(|text| self.executor.registry().clean(text)),
            Decision::AbortTurn(why) => Reply::Failed(ended(&why)),
            Decision::HardAbort(why) => Reply::Failed(undone(&why)),
        };
        self.hooks.notify(&HookEvent::tool_finished("", &call.tool, &reply, took), &meta);
        reply
    }

    /// Whether a hook has to see results before the caller does.
    pub(crate) fn review_results(&self) -> bool {
        self.hooks.has_interceptors("after_tool")
    }

    /// Ends the hooks, after giving them time to exit.
    pub async fn close(&self) {
        self.hooks.close().await;
    }

    async fn deny(&self, call: Call, why: impl Display) -> Reply {
        self.executor.deny_by_hook(call, format!("Tool execution denied by hook: {why}")).await
    }
}

fn ended(why: &str) -> String {
    format!("the turn was ended by a hook: {why}")
}

fn undone(why: &str) -> String {
    format!("the turn was undone by a hook: {why}")
}
