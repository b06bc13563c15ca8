//! The tool itself: which action, and the way of each to the warden.
//!
//! Invariant: no child and no key stroke without a permit.

use super::super::arguments::Arguments;
use super::super::context::ToolContext;
use super::super::file_access;
use super::super::pending::{Outcome, with_permit};
use super::super::registry::Tool;
use super::super::schema::Parameter;
use super::parameters::PARAMETERS;
use super::render;
use super::sessions::{LIFE, MOST, Sessions};
use crate::call::Reply;
use picoclaw_policy::Subject;
use picoclaw_sandbox::exec::{self, Exec, ExecError};
use picoclaw_sandbox::launch::WindowSize;
use picoclaw_sandbox::permit::Permit;
use picoclaw_sandbox::root::RootError;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The terminal of a session that asks for one.
const WINDOW: WindowSize = WindowSize { rows: 24, columns: 80 };

pub(in super::super) struct ExecTool {
    limit: Duration,
    pub(super) sessions: Arc<Sessions>,
}

impl ExecTool {
    /// With the configured limit on a command's time; zero is the documented default.
    pub(in super::super) fn new(seconds: u64) -> Self {
        let seconds = if seconds == 0 { 60 } else { seconds };
        Self { limit: Duration::from_secs(seconds), sessions: Arc::default() }
    }

    fn run_command(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Outcome, Reply> {
        let command = arguments.text("command");
        if command.trim().is_empty() {
            return Err(file_access::invalid(context, self.name(), "command is required"));
        }
        let background = arguments.flag("background").unwrap_or(false);
        if background && !self.sessions.has_room(context.subject) {
            let sentence = format!("too many background sessions ({MOST}); kill one first");
            return Err(file_access::invalid(context, self.name(), &sentence));
        }
        let cwd = match arguments.text("cwd") {
            "" => arguments.text("working_dir"),
            cwd => cwd,
        };
        let sought = context
            .warden
            .prepare_command(command, Path::new(cwd), context.subject)
            .map_err(|why| file_access::invalid(context, self.name(), &why.to_string()))?;
        let admission = context.warden.admit(self.name(), context.subject, sought);
        Ok(if background {
            let terminal = arguments.flag("pty").unwrap_or(false).then_some(WINDOW);
            let sessions = Arc::clone(&self.sessions);
            with_permit(self.name(), admission, context, move |permit, context| {
                start(permit, terminal, &sessions, context)
            })
        } else {
            let deadline = match arguments.count("timeout") {
                None | Some(0) => self.limit,
                Some(seconds) => self.limit.min(Duration::from_secs(seconds)),
            };
            with_permit(self.name(), admission, context, move |permit, context| {
                wait(permit, deadline, context)
            })
        })
    }
}

fn wait(permit: Permit<Exec>, deadline: Duration, context: &ToolContext<'_>) -> Reply {
    let (agent, shop) = (&context.subject.agent, context.warden.exec_env());
    match exec::run(permit, agent, shop, deadline, context.halt, &|output| (context.watcher)(output)) {
        Ok(done) => render::finished(&done, deadline),
        Err(why) => cannot(&why),
    }
}

fn start(
    permit: Permit<Exec>,
    terminal: Option<WindowSize>,
    sessions: &Sessions,
    context: &ToolContext<'_>,
) -> Reply {
    match exec::start(permit, &context.subject.agent, context.warden.exec_env(), terminal, LIFE) {
        Ok(session) => {
            let id = sessions.keep(session, context.subject);
            Reply::Done(json!({"sessionId": id, "status": "running"}).to_string())
        }
        Err(why) => cannot(&why),
    }
}

impl Tool for ExecTool {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn about(&self) -> &'static str {
        "Execute a shell command in the workspace and return its output. Long-running commands can run in the background."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let outcome = match arguments.text("action") {
            "" | "run" => self.run_command(arguments, context),
            "list" => self.list(context).map(Outcome::from),
            "poll" => self.poll(arguments, context).map(Outcome::from),
            "read" => self.read(arguments, context).map(Outcome::from),
            "write" => self.write(arguments, context),
            "send-keys" => self.send_keys(arguments, context),
            "kill" => self.kill(arguments, context).map(Outcome::from),
            other => Err(file_access::invalid(context, self.name(), &format!("unknown action: {other}"))),
        };
        outcome.unwrap_or_else(Outcome::from)
    }

    fn end_session(&self, subject: &Subject) {
        self.sessions.drop_of(subject);
    }
}

fn cannot(why: &ExecError) -> Reply {
    match why {
        ExecError::WorkDir(RootError::NotFound { .. }) => {
            Reply::Failed("failed to start command: the working directory does not exist".to_owned())
        }
        other => Reply::Failed(other.to_string()),
    }
}
