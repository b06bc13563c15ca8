//! Hooks beside calls that belong to no turn: `picoclaw tool`, clients of the MCP server.
//!
//! Invariant: a call that a hook objects to, or could not be asked about, is refused and recorded, and nothing of it happens.

use super::escort::{Escort, Passage};
use super::event::Event;
use crate::call::{Call, Reply};
use crate::hall::Hall;
use crate::hooks::Hooks;
use picoclaw_policy::config::Config;
use picoclaw_policy::{Origin, Subject};
use std::sync::Arc;
use std::time::Duration;

/// The hooks of a program that has calls and no turns.
pub struct Attendance {
    hooks: Arc<Hooks>,
    hall: Hall,
}

impl Attendance {
    /// The configuration's hooks, beside calls through this hall; none when it names none. Must be called inside a runtime.
    pub fn of(config: &Config, hall: &Hall) -> Option<Self> {
        let subject = Subject::root(Origin::Hook, config.default_agent.clone(), "hooks");
        let hooks = Hooks::new(&config.hooks, hall.warden(), &subject);
        (!hooks.is_empty()).then(|| Self { hooks: Arc::new(hooks), hall: hall.clone() })
    }

    /// Asks the hooks about a call: the call as they leave it, or the reply that it has already got.
    pub async fn pass(&self, call: Call) -> Result<Call, Reply> {
        if let Err(why) = self.hooks.ready().await {
            return Err(self.deny(call, &why.to_string()).await);
        }
        let escort = self.escort(&call);
        match escort.pass(0, &call.tool, call.arguments.clone()).await {
            // There is no turn to end: the call is all there is.
            Err(why) => Err(self.deny(call, &why.to_string()).await),
            Ok(Passage::Denied(sentence)) => Err(self.hall.deny_by_hook(call, sentence).await),
            Ok(Passage::Answered(said)) => Err(self.hall.answered_by_hook(call, said).await),
            Ok(Passage::On { tool, arguments }) => {
                let call = Call { tool, arguments, ..call };
                let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
                escort.tell_event(&Event::ToolCall { id: String::new(), tool, arguments });
                Ok(call)
            }
        }
    }

    /// Shows the hooks what came of it: what the caller will be told.
    pub async fn show(&self, call: &Call, reply: Reply, took: Duration) -> Reply {
        let escort = self.escort(call);
        let reply = match escort.show(0, &call.tool, &call.arguments, reply, took).await {
            Ok(reply) => reply.map_text(|text| self.hall.registry().clean(text)),
            Err(why) => Reply::Failed(why.to_string()),
        };
        let (tool, told) = (call.tool.clone(), reply.clone());
        escort.tell_event(&Event::ToolResult { id: String::new(), tool, reply: told, took });
        reply
    }

    /// Gives the hooks time to leave.
    pub async fn close(&self) {
        self.hooks.close().await;
    }

    fn escort(&self, call: &Call) -> Escort {
        Escort::new(Arc::clone(&self.hooks), &call.subject, None)
    }

    async fn deny(&self, call: Call, why: &str) -> Reply {
        self.hall.deny_by_hook(call, format!("Tool execution denied by hook: {why}")).await
    }
}
