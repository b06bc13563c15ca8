//! The tool itself: which action, and the way of each to the warden.
//!
//! Invariant: no child and no key stroke without a permit.

use super::super::arguments::Arguments;
use super::super::file;
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
use picoclaw_sandbox::warden::{Admission, Warden};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub(in super::super) struct ExecTool {
    limit: Duration,
    pub(super) sessions: Sessions,
}

impl ExecTool {
    /// With the configured limit on a command's time; zero is the documented default.
    pub(in super::super) fn new(seconds: u64) -> Self {
        let seconds = if seconds == 0 { 60 } else { seconds };
        Self { limit: Duration::from_secs(seconds), sessions: Sessions::default() }
    }

    fn run_command(&self, arguments: &Arguments<'_>, warden: &Warden, subject: &Subject) -> Reply {
        let command = arguments.text("command");
        if command.trim().is_empty() {
            return file::misfit(warden, subject, self.name(), "command is required");
        }
        let background = arguments.flag("background").unwrap_or(false);
        if background && !self.sessions.has_room(subject) {
            let sentence = format!("too many background sessions ({MOST}); kill one first");
            return file::misfit(warden, subject, self.name(), &sentence);
        }
        let permit = match self.admit(arguments, command, warden, subject) {
            Ok(permit) => permit,
            Err(reply) => return reply,
        };
        if background {
            self.start(permit, arguments, warden, subject)
        } else {
            self.wait(permit, arguments, warden, subject)
        }
    }

    fn admit(
        &self,
        arguments: &Arguments<'_>,
        command: &str,
        warden: &Warden,
        subject: &Subject,
    ) -> Result<Permit<Exec>, Reply> {
        let cwd = match arguments.text("cwd") {
            "" => arguments.text("working_dir"),
            cwd => cwd,
        };
        let sought = warden
            .seek_command(command, Path::new(cwd), subject)
            .map_err(|why| file::misfit(warden, subject, self.name(), &why.to_string()))?;
        match warden.admit(self.name(), subject, sought) {
            Admission::Permit(permit) => Ok(permit),
            Admission::Refusal(refusal) => Err(Reply::Refused(refusal)),
            Admission::Pending(pending) => Err(Reply::Unasked(warden.unanswered(*pending))),
        }
    }

    fn wait(
        &self,
        permit: Permit<Exec>,
        arguments: &Arguments<'_>,
        warden: &Warden,
        subject: &Subject,
    ) -> Reply {
        let deadline = match arguments.count("timeout") {
            None | Some(0) => self.limit,
            Some(seconds) => self.limit.min(Duration::from_secs(seconds)),
        };
        match exec::run(permit, &subject.agent, warden.workshop(), deadline) {
            Ok(done) => render::finished(&done, deadline),
            Err(why) => cannot(&why),
        }
    }

    fn start(
        &self,
        permit: Permit<Exec>,
        arguments: &Arguments<'_>,
        warden: &Warden,
        subject: &Subject,
    ) -> Reply {
        let terminal = arguments.flag("pty").unwrap_or(false).then_some(WindowSize { rows: 24, columns: 80 });
        match exec::start(permit, &subject.agent, warden.workshop(), terminal, LIFE) {
            Ok(session) => {
                let id = self.sessions.keep(session, subject);
                Reply::Done(json!({"sessionId": id, "status": "running"}).to_string())
            }
            Err(why) => cannot(&why),
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

    fn run(&self, arguments: &Arguments<'_>, warden: &Warden, subject: &Subject) -> Reply {
        match arguments.text("action") {
            "" | "run" => self.run_command(arguments, warden, subject),
            "list" => self.list(warden, subject),
            "poll" => self.poll(arguments, warden, subject),
            "read" => self.read(arguments, warden, subject),
            "write" => self.write(arguments, warden, subject),
            "send-keys" => self.send_keys(arguments, warden, subject),
            "kill" => self.kill(arguments, warden, subject),
            other => file::misfit(warden, subject, self.name(), &format!("unknown action: {other}")),
        }
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
