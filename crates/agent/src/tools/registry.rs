//! The registry of tools, and the dispatch of calls. Every call ends in one reply and one pair of
//! records.

use super::append_file::AppendFile;
use super::arguments::Arguments;
use super::context::ToolContext;
use super::discovery::Discovery;
use super::edit_file::EditFile;
use super::exec::ExecTool;
use super::list_dir::ListDir;
use super::output_lines::OutputLines;
use super::pending::{Outcome, PendingCall};
use super::read_file::ReadFile;
use super::schema::{Parameter, json_schema};
use super::web_fetch::WebFetch;
use super::write_file::WriteFile;
use crate::call::{Call, Reply};
use picoclaw_policy::config::ToolsConfig;
use picoclaw_policy::{Code, Refusal, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::permit::{Answer, Approval};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// A tool that an agent can call.
pub trait Tool: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// What it does, for the model.
    fn about(&self) -> &str;
    /// Its parameters.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }
    /// The JSON Schema for the model.
    fn schema(&self) -> Value {
        json_schema(self.parameters())
    }
    /// Checks arguments against that schema; the error names what does not match.
    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        Arguments::check(self.parameters(), arguments)
    }
    /// Runs the call, with permits from the warden.
    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome;
    /// Whether a model sees it only after a search for it.
    fn is_deferred(&self) -> bool {
        false
    }
    /// Ends what still runs in the background for the session of `subject`.
    fn end_session(&self, _subject: &Subject) {}
}

/// All tools. A clone has the same ones.
#[derive(Clone)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
    redactor: Redactor,
    discovery: Option<Arc<Discovery>>,
}

impl Registry {
    /// The built-in tools, with the limits of the configuration; `redactor` filters every reply.
    pub fn new(tools: &ToolsConfig, redactor: Redactor) -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(AppendFile),
            Arc::new(EditFile),
            Arc::new(ExecTool::new(tools.exec.timeout_seconds)),
            Arc::new(ListDir),
            Arc::new(ReadFile { max_bytes: tools.max_read_file_size }),
            Arc::new(WebFetch::new(&tools.web)),
            Arc::new(WriteFile),
        ];
        Self { tools, redactor, discovery: None }
    }

    /// The same tools and more; a tool whose name is taken is left out.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut tools = self.tools.clone();
        for tool in more {
            if !tools.iter().any(|known| known.name() == tool.name()) {
                tools.push(tool);
            }
        }
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        Self { tools, redactor: self.redactor.clone(), discovery: self.discovery.clone() }
    }

    /// The same, with deferred tools hidden until they are found by searching.
    #[must_use]
    pub fn hiding(self, discovery: Arc<Discovery>) -> Self {
        Self { discovery: Some(discovery), ..self }
    }

    /// The tools that `subject` can see now.
    pub fn seen_by(&self, subject: &Subject) -> impl Iterator<Item = &dyn Tool> {
        self.tools().filter(|tool| self.sees(*tool, subject))
    }

    fn sees(&self, tool: &dyn Tool, subject: &Subject) -> bool {
        let is_found = |discovery: &Arc<Discovery>| discovery.is_found(tool.name(), subject);
        !tool.is_deferred() || self.discovery.as_ref().is_some_and(is_found)
    }

    /// Ends one round of a subject's tool calls.
    pub fn round_over(&self, subject: &Subject) {
        if let Some(discovery) = &self.discovery {
            discovery.round_over(subject);
        }
    }

    /// The tools in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// `text` with secrets filtered.
    pub(crate) fn clean(&self, text: String) -> String {
        self.redactor.clean(&text).into_owned()
    }

    /// Whether there is a tool of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Ends what the tools still run in the background for the session of `subject`.
    pub fn end_session(&self, subject: &Subject) {
        self.tools().for_each(|tool| tool.end_session(subject));
    }

    /// Runs one call to its reply or to its question, and logs a failure.
    pub fn run(&self, call: &Call, context: &ToolContext<'_>) -> Outcome {
        tracing::debug!(target: "tool", tool = %call.tool, agent = %call.subject.agent, "Tool execution started");
        let question = Mutex::new(None);
        let reply = self.attempt(call, &ToolContext { question: Some(&question), ..*context });
        let Some(pending) = question.into_inner().unwrap_or_else(PoisonError::into_inner) else {
            return Outcome::Reply(finish(reply, &call.tool, &self.redactor));
        };
        let (again, call) = (self.clone(), call.clone());
        let asked = PendingCall::new(pending, self.redactor.clone(), move |approved, context| {
            again.attempt(&call, &ToolContext { approved: Some(approved), ..*context })
        });
        match context.warden.always().find(asked.act()) {
            None => Outcome::NeedsApproval(asked),
            Some(rule) => {
                let by = format!("the rule {} of {}", rule.id, rule.by);
                asked.answer(&Answer::new(Approval::Always, by), context).into()
            }
        }
    }

    /// Makes one call, once.
    fn attempt(&self, call: &Call, context: &ToolContext<'_>) -> Reply {
        let lines = OutputLines::new(&self.redactor, context.watcher);
        let watcher = |output: &[u8]| lines.push(output);
        let context = ToolContext { watcher: &watcher, arguments: &call.arguments, ..*context };
        let reply = match self.dispatch(call, &context) {
            Outcome::Reply(reply) => reply,
            Outcome::NeedsApproval(asked) => asked.unanswered(&context),
        };
        lines.finish();
        reply
    }

    /// The same where no person can be asked.
    pub fn run_unattended(&self, call: &Call, context: &ToolContext<'_>) -> Reply {
        match self.run(call, context) {
            Outcome::Reply(reply) => reply,
            Outcome::NeedsApproval(asked) => asked.unanswered(context),
        }
    }

    /// Refuses a call whose arguments are not JSON; recorded like any other.
    pub fn refuse_unreadable(&self, call: &Call, why: &str, context: &ToolContext<'_>) -> Reply {
        let outcome = match self.find(&call.tool) {
            None => self.dispatch(call, context),
            Some(_) => {
                let sentence = format!("invalid arguments for tool {:?}: not JSON: {why}", call.tool);
                reject(context, call, Code::InvalidArguments, sentence)
            }
        };
        match outcome {
            Outcome::Reply(reply) => finish(reply, &call.tool, &self.redactor),
            Outcome::NeedsApproval(asked) => asked.unanswered(context),
        }
    }

    fn dispatch(&self, call: &Call, context: &ToolContext<'_>) -> Outcome {
        let Some(tool) = self.find(&call.tool).filter(|tool| self.sees(*tool, &call.subject)) else {
            return reject(context, call, Code::UnknownTool, format!("tool {:?} not found", call.tool));
        };
        match tool.check(&call.arguments) {
            Ok(arguments) => tool.run(&arguments, context),
            Err(why) => {
                let sentence = format!("invalid arguments for tool {:?}: {why}", call.tool);
                reject(context, call, Code::InvalidArguments, sentence)
            }
        }
    }

    fn find(&self, name: &str) -> Option<&dyn Tool> {
        self.tools().find(|tool| tool.name() == name)
    }
}

/// Filters secrets from the reply and logs how it went.
pub(super) fn finish(reply: Reply, tool: &str, redactor: &Redactor) -> Reply {
    let reply = reply.map_text(|text| redactor.clean_own(text));
    match &reply {
        Reply::Done(_) => tracing::debug!(target: "tool", tool = %tool, "Tool execution completed"),
        failed => {
            tracing::error!(target: "tool", tool = %tool, error = %failed.sentence(), "Tool execution failed");
        }
    }
    reply
}

fn reject(context: &ToolContext<'_>, call: &Call, code: Code, sentence: String) -> Outcome {
    let refusal = Refusal { code, ..Refusal::invalid_arguments(sentence) };
    Reply::Refused(context.warden.refuse_call(&call.tool, &call.subject, refusal)).into()
}
