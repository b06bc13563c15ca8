//! The tool `exec`: dispatches its actions. Commands and key strokes need a permit.

use super::super::arguments::Arguments;
use super::super::context::ToolContext;
use super::super::file_access;
use super::super::pending::Outcome;
use super::super::registry::Tool;
use super::super::schema::Parameter;
use super::parameters::PARAMETERS;
use super::render;
use super::sessions::{MAX_SESSIONS, SESSION_TIMEOUT, Sessions};
use crate::call::Reply;
use picoclaw_policy::Subject;
use picoclaw_sandbox::exec::{self, CommandOwner, Exec, ExecError, RunMode};
use picoclaw_sandbox::launch::WindowSize;
use picoclaw_sandbox::permit::Permit;
use picoclaw_sandbox::root::RootError;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The size of a session's terminal.
const WINDOW_SIZE: WindowSize = WindowSize { rows: 24, columns: 80 };

/// The time of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeLimit {
    /// For the whole call.
    whole: Duration,
    /// For the command itself: what the judgement took is gone.
    left: Duration,
}

impl TimeLimit {
    fn after_judging(whole: Duration, began: Instant, judged: Instant) -> Self {
        Self { whole, left: whole.saturating_sub(judged.saturating_duration_since(began)) }
    }
}

pub(in super::super) struct ExecTool {
    timeout: Duration,
    pub(super) sessions: Arc<Sessions>,
}

impl ExecTool {
    /// With the configured timeout of a command; zero is the documented default.
    pub(in super::super) fn new(seconds: u64) -> Self {
        let seconds = if seconds == 0 { 60 } else { seconds };
        Self { timeout: Duration::from_secs(seconds), sessions: Arc::default() }
    }

    fn run_command(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let command = arguments.text("command");
        if command.trim().is_empty() {
            return Err(file_access::invalid(context, self.name(), "command is required"));
        }
        let background = arguments.flag("background").unwrap_or(false);
        if background && !self.sessions.has_room(context.subject) {
            let sentence = format!("too many background sessions ({MAX_SESSIONS}); kill one first");
            return Err(file_access::invalid(context, self.name(), &sentence));
        }
        let cwd = match arguments.text("cwd") {
            "" => arguments.text("working_dir"),
            cwd => cwd,
        };
        let began = Instant::now();
        let exec = context
            .warden
            .prepare_command(command, Path::new(cwd), context.subject)
            .map_err(|why| file_access::invalid(context, self.name(), &why.to_string()))?;
        let timeout = match arguments.count("timeout") {
            _ if background => SESSION_TIMEOUT,
            None | Some(0) => self.timeout,
            Some(seconds) => self.timeout.min(Duration::from_secs(seconds)),
        };
        // What the guard took is time of the call; waiting for an answer is not.
        let limit = TimeLimit::after_judging(timeout, began, Instant::now());
        let permit = context.admit(self.name(), exec.with_mode(RunMode { background, timeout }))?;
        Ok(if background {
            let terminal = arguments.flag("pty").unwrap_or(false).then_some(WINDOW_SIZE);
            self.start(permit, terminal, context)
        } else {
            self.run_to_end(permit, limit, context)
        })
    }

    fn run_to_end(&self, permit: Permit<Exec>, limit: TimeLimit, context: &ToolContext<'_>) -> Reply {
        let network = self.sessions.network(context.subject);
        let owner = CommandOwner { agent: &context.subject.agent, network: network.as_ref() };
        let (env, watch) = (context.warden.exec_env(), |output: &[u8]| (context.watcher)(output));
        match exec::run(permit, owner, env, limit.left, context.halt, &watch) {
            Ok((done, report)) => render::finished(&done, limit.whole, &report),
            Err(why) => start_failed(&why),
        }
    }

    fn start(&self, permit: Permit<Exec>, terminal: Option<WindowSize>, context: &ToolContext<'_>) -> Reply {
        let network = self.sessions.network(context.subject);
        let owner = CommandOwner { agent: &context.subject.agent, network: network.as_ref() };
        match exec::start(permit, owner, context.warden.exec_env(), terminal, SESSION_TIMEOUT) {
            Ok(session) => {
                let id = self.sessions.add(session, context.subject);
                Reply::Done(json!({"sessionId": id, "status": "running"}).to_string())
            }
            Err(why) => start_failed(&why),
        }
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
        let reply = match arguments.text("action") {
            "" | "run" => self.run_command(arguments, context),
            "list" => self.list(context),
            "poll" => self.poll(arguments, context),
            "read" => self.read(arguments, context),
            "write" => self.write(arguments, context),
            "send-keys" => self.send_keys(arguments, context),
            "kill" => self.kill(arguments, context),
            other => Err(file_access::invalid(context, self.name(), &format!("unknown action: {other}"))),
        };
        reply.into()
    }

    fn end_session(&self, subject: &Subject) {
        self.sessions.end_all(subject);
    }
}

fn start_failed(error: &ExecError) -> Reply {
    match error {
        ExecError::WorkDir(RootError::NotFound { .. }) => {
            Reply::Failed("failed to start command: the working directory does not exist".to_owned())
        }
        other => Reply::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_takes_its_time_from_the_command() {
        let (began, seconds) = (Instant::now(), Duration::from_secs);
        for (judging, left) in [(0, 60), (1, 59), (60, 0), (61, 0)] {
            let limit = TimeLimit::after_judging(seconds(60), began, began + seconds(judging));
            let want = TimeLimit { whole: seconds(60), left: seconds(left) };
            assert_eq!(limit, want, "judged for {judging} s");
        }
    }
}
