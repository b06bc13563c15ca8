//! The actions on a background session. A line for a shell is judged as a command; printable keys
//! for a shell are refused (W36).

use super::super::arguments::Arguments;
use super::super::context::ToolContext;
use super::super::file_access;
use super::super::registry::Tool;
use super::render;
use super::tool::ExecTool;
use crate::call::Reply;
use picoclaw_policy::SessionIntent;
use picoclaw_policy::shell::guard::{Finding, Judgement, Kind, Remedy};
use picoclaw_sandbox::exec::{Program, Session, SessionAction, session_input};
use picoclaw_sandbox::launch::{BackgroundError, terminal_keys};
use picoclaw_sandbox::permit::Permit;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

impl ExecTool {
    pub(super) fn list(&self, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        session_input::list(admit(context, intent("list", "", ""))?);
        let rows = self.sessions.of(context.subject).into_iter().map(|(id, owned)| {
            let (status, _) = render::session_status(&owned.session.state());
            json!({"id": id, "command": owned.session.command(), "status": status, "pid": owned.session.pid(), "startedAt": owned.started_at})
        });
        Ok(Reply::Done(json!({"sessions": rows.collect::<Vec<_>>()}).to_string()))
    }

    pub(super) fn poll(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let (id, session) = self.find_session(arguments, context)?;
        let permit = admit(context, intent("poll", &id, ""))?;
        let (status, code) = render::session_status(&session_input::poll(permit, &session));
        let mut answer = json!({"sessionId": id, "status": status});
        if !code.is_null() {
            answer["exitCode"] = code;
        }
        Ok(Reply::Done(render::with_notes(answer, &session)))
    }

    pub(super) fn read(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let (id, session) = self.find_session(arguments, context)?;
        let permit = admit(context, intent("read", &id, ""))?;
        let (output, state) = session_input::read(permit, &session);
        let (status, _) = render::session_status(&state);
        let answer = json!({"sessionId": id, "output": output.to_text(), "status": status});
        Ok(Reply::Done(render::with_notes(answer, &session)))
    }

    pub(super) fn write(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let (id, session) = self.find_session(arguments, context)?;
        let data = arguments.text("data");
        if data.is_empty() {
            return Err(file_access::invalid(context, self.name(), "data is required"));
        }
        let judgement = match session.program() {
            Program::Other => None,
            Program::Shell => Some(judge_lines(context, data)?),
        };
        let typed = SessionIntent { judgement, ..intent("write", &id, data) };
        let permit = context.admit(self.name(), SessionAction(typed))?;
        Ok(reply(session_input::write(permit, &session), || {
            json!({"sessionId": id, "status": "running"}).to_string()
        }))
    }

    pub(super) fn send_keys(
        &self,
        arguments: &Arguments<'_>,
        context: &ToolContext<'_>,
    ) -> Result<Reply, Reply> {
        let (id, session) = self.find_session(arguments, context)?;
        let pressed = arguments.text("keys").to_owned();
        if pressed.trim().is_empty() {
            return Err(file_access::invalid(context, self.name(), "keys cannot be empty"));
        }
        let typed = session.program() == Program::Shell && !terminal_keys::is_control_only(&pressed);
        let judgement = typed.then(|| typed_keys(&pressed));
        let typed = SessionIntent { judgement, ..intent("send-keys", &id, &pressed) };
        let permit = context.admit(self.name(), SessionAction(typed))?;
        Ok(reply(session_input::send_keys(permit, &session), || {
            json!({"sessionId": id, "status": "running", "output": format!("Sent keys: [{pressed}]")})
                .to_string()
        }))
    }

    pub(super) fn kill(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let (id, session) = self.find_session(arguments, context)?;
        session_input::kill(admit(context, intent("kill", &id, ""))?, &session);
        self.sessions.remove(&id);
        Ok(Reply::Done(render::with_notes(json!({"sessionId": id, "status": "done"}), &session)))
    }

    /// The requested session, if it is the subject's own.
    fn find_session(
        &self,
        arguments: &Arguments<'_>,
        context: &ToolContext<'_>,
    ) -> Result<(String, Arc<Session>), Reply> {
        let id = arguments.text("sessionId");
        if id.is_empty() {
            return Err(file_access::invalid(context, self.name(), "sessionId is required"));
        }
        match self.sessions.find(id, context.subject) {
            Some(session) => Ok((id.to_owned(), session)),
            None => Err(file_access::invalid(
                context,
                self.name(),
                &format!("session not found: {}", file_access::escaped(id)),
            )),
        }
    }
}

fn intent(action: &'static str, id: &str, input: &str) -> SessionIntent {
    SessionIntent { action, session: id.to_owned(), input: input.to_owned(), judgement: None }
}

fn admit(context: &ToolContext<'_>, intent: SessionIntent) -> Result<Permit<SessionAction>, Reply> {
    context.admit("exec", SessionAction(intent))
}

/// Judges text for a shell as commands. Lines must be complete: half a line could be completed into
/// anything.
///
/// The shell's current directory is not known. The workspace is assumed, so that every `..` leads
/// out and is refused.
fn judge_lines(context: &ToolContext<'_>, data: &str) -> Result<Judgement, Reply> {
    let lines = data.trim_end_matches('\n');
    let mut judgement = context
        .warden
        .inspect_input(lines, Path::new(""), context.subject)
        .map_err(|why| file_access::invalid(context, "exec", &why.to_string()))?;
    if judgement.is_allowed() && !data.ends_with('\n') {
        judgement.finding = Some(Finding {
            kind: Kind::NotUnderstood,
            rule: "whole lines".to_owned(),
            why: "text for a shell is judged line by line, and this line does not end with a line feed"
                .to_owned(),
            words: data.to_owned(),
            remedy: Remedy::Rewrite("end it with \\n".to_owned()),
        });
    }
    Ok(judgement)
}

/// Refuses keys that would type or edit a command without the guard.
fn typed_keys(pressed: &str) -> Judgement {
    let finding = Finding {
        kind: Kind::NotUnderstood,
        rule: "keys for a shell".to_owned(),
        why: "these keys type or edit a line of a shell, which would not be judged".to_owned(),
        words: pressed.to_owned(),
        remedy: Remedy::Rewrite("use the `write` action with whole lines".to_owned()),
    };
    Judgement { commands: Vec::new(), finding: Some(finding), others: Vec::new() }
}

fn reply(outcome: Result<(), BackgroundError>, text: impl FnOnce() -> String) -> Reply {
    match outcome {
        Ok(()) => Reply::Done(text()),
        Err(why) => Reply::Failed(why.to_string()),
    }
}
