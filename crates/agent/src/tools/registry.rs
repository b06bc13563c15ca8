//! The list of tools, and the way a call takes through it.
//!
//! Invariant: a call ends in exactly one reply and one pair of records, whatever its arguments are.

use super::append_file::AppendFile;
use super::arguments::Arguments;
use super::asked::Outcome;
use super::edit_file::EditFile;
use super::exec::ExecTool;
use super::lines::Lines;
use super::list_dir::ListDir;
use super::read_file::ReadFile;
use super::schema::{Parameter, json_schema};
use super::visit::Visit;
use super::web_fetch::WebFetch;
use super::write_file::WriteFile;
use crate::call::{Call, Reply};
use picoclaw_policy::config::ToolsConfig;
use picoclaw_policy::{Code, Layer, Refusal, Subject};
use picoclaw_sandbox::Redactor;
use serde_json::Value;
use std::sync::Arc;

/// Something an agent can call.
pub trait Tool: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// What it does, for the model.
    fn about(&self) -> &str;
    /// What it takes.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }
    /// The schema that a model is shown.
    fn schema(&self) -> Value {
        json_schema(self.parameters())
    }
    /// Checks arguments against that schema; the text names what does not fit.
    fn check<'a>(&self, arguments: &'a Value) -> Result<Arguments<'a>, String> {
        Arguments::check(self.parameters(), arguments)
    }
    /// Does it, with keys from the warden.
    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome;
    /// Whether a model sees it only after it searched for it.
    fn is_deferred(&self) -> bool {
        false
    }
    /// Ends what it still keeps going for a subject who will not come back.
    fn part(&self, _subject: &Subject) {}
}

/// Knows which deferred tools a subject has found.
pub trait Hiding: Send + Sync {
    /// Whether `subject` has found this one.
    fn is_found(&self, tool: &str, subject: &Subject) -> bool;
    /// One round of tool calls is over.
    fn round_over(&self, subject: &Subject);
}

/// Every tool there is.
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
    redactor: Redactor,
    hiding: Option<Arc<dyn Hiding>>,
}

impl Registry {
    /// The built-in tools, with the bounds of the configuration; `redactor` goes over everything that they say.
    pub fn new(tools: &ToolsConfig, redactor: Redactor) -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(AppendFile),
            Arc::new(EditFile),
            Arc::new(ExecTool::new(tools.exec.timeout_seconds)),
            Arc::new(ListDir),
            Arc::new(ReadFile { max: tools.max_read_file_size }),
            Arc::new(WebFetch::new(&tools.web)),
            Arc::new(WriteFile),
        ];
        Self { tools, redactor, hiding: None }
    }

    /// The same tools and more; a name that is taken already is not taken again.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut tools = self.tools.clone();
        for tool in more {
            if !tools.iter().any(|known| known.name() == tool.name()) {
                tools.push(tool);
            }
        }
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        Self { tools, redactor: self.redactor.clone(), hiding: self.hiding.clone() }
    }

    /// The same, with deferred tools hidden until `hiding` says that they were found.
    #[must_use]
    pub fn hiding(self, hiding: Arc<dyn Hiding>) -> Self {
        Self { hiding: Some(hiding), ..self }
    }

    /// The tools that `subject` can see now.
    pub fn seen_by(&self, subject: &Subject) -> impl Iterator<Item = &dyn Tool> {
        self.tools().filter(|tool| self.sees(*tool, subject))
    }

    fn sees(&self, tool: &dyn Tool, subject: &Subject) -> bool {
        let is_found = |hiding: &Arc<dyn Hiding>| hiding.is_found(tool.name(), subject);
        !tool.is_deferred() || self.hiding.as_ref().is_some_and(is_found)
    }

    /// One round of a subject's tool calls is over: what it found gets older.
    pub fn round_over(&self, subject: &Subject) {
        if let Some(hiding) = &self.hiding {
            hiding.round_over(subject);
        }
    }

    /// The tools in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &dyn Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// A text without secrets.
    pub(crate) fn clean(&self, text: String) -> String {
        self.redactor.clean(&text).into_owned()
    }

    /// Whether there is a tool of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Ends what the tools keep going for a subject who will not come back.
    pub fn part(&self, subject: &Subject) {
        self.tools().for_each(|tool| tool.part(subject));
    }

    /// Runs one call to its end, or to its question; a failure is logged.
    pub fn run(&self, call: &Call, visit: &Visit<'_>) -> Outcome {
        tracing::debug!(target: "tool", tool = %call.tool, agent = %call.subject.agent, "Tool execution started");
        let lines = Lines::new(&self.redactor, visit.watcher);
        let outcome = self.dispatch(call, &Visit { watcher: &|output| lines.push(output), ..*visit });
        lines.finish();
        let (tool, redactor) = (call.tool.clone(), self.redactor.clone());
        match outcome {
            Outcome::Reply(reply) => Outcome::Reply(over(reply, &tool, &redactor)),
            Outcome::Asks(asked) => {
                Outcome::Asks(asked.map_reply(move |reply| over(reply, &tool, &redactor)))
            }
        }
    }

    /// The same where nobody can be asked.
    pub fn run_alone(&self, call: &Call, visit: &Visit<'_>) -> Reply {
        match self.run(call, visit) {
            Outcome::Reply(reply) => reply,
            Outcome::Asks(asked) => asked.unanswered(visit),
        }
    }

    /// Refuses a call whose arguments are not even JSON; recorded like any other.
    pub fn refuse_unreadable(&self, call: &Call, why: &str, visit: &Visit<'_>) -> Reply {
        let outcome = match self.find(&call.tool) {
            None => self.dispatch(call, visit),
            Some(_) => {
                let sentence = format!("invalid arguments for tool {:?}: not JSON: {why}", call.tool);
                away(visit, call, Code::InvalidArguments, sentence)
            }
        };
        match outcome {
            Outcome::Reply(reply) => over(reply, &call.tool, &self.redactor),
            Outcome::Asks(asked) => asked.unanswered(visit),
        }
    }

    fn dispatch(&self, call: &Call, visit: &Visit<'_>) -> Outcome {
        let Some(tool) = self.find(&call.tool).filter(|tool| self.sees(*tool, &call.subject)) else {
            return away(visit, call, Code::UnknownTool, format!("tool {:?} not found", call.tool));
        };
        match tool.check(&call.arguments) {
            Ok(arguments) => tool.run(&arguments, visit),
            Err(why) => {
                let sentence = format!("invalid arguments for tool {:?}: {why}", call.tool);
                away(visit, call, Code::InvalidArguments, sentence)
            }
        }
    }

    fn find(&self, name: &str) -> Option<&dyn Tool> {
        self.tools().find(|tool| tool.name() == name)
    }
}

/// The schema that a model is shown for a tool.
pub fn schema_of(tool: &dyn Tool) -> Value {
    tool.schema()
}

/// The schema of a parameter list.
pub fn schema_of_parameters(parameters: &[Parameter]) -> Value {
    json_schema(parameters)
}

/// Secrets out of the reply, and a line in the log about how it went.
fn over(reply: Reply, tool: &str, redactor: &Redactor) -> Reply {
    let reply = reply.map_text(|text| redactor.clean_own(text));
    match &reply {
        Reply::Done(_) => tracing::debug!(target: "tool", tool = %tool, "Tool execution completed"),
        failed => {
            tracing::error!(target: "tool", tool = %tool, error = %failed.sentence(), "Tool execution failed");
        }
    }
    reply
}

fn away(visit: &Visit<'_>, call: &Call, code: Code, sentence: String) -> Outcome {
    let refusal =
        Refusal { code, sentence, rule: "tools".to_owned(), layer: Layer::Registry, hint: String::new() };
    Reply::Refused(visit.warden.refuse_call(&call.tool, &call.subject, refusal)).into()
}
