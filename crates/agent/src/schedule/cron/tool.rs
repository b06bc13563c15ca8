//! `cron`: an agent's own jobs. A scheduled command is judged again when it runs.

use super::edit::{Change, JobScope, NewJob, Switch};
use super::error::CronError;
use super::executor::commands_disabled;
use super::job::{Job, Task};
use super::job_run::Clock;
use super::schedule::Schedule;
use super::store::Store;
use crate::call::Reply;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, Type};
use picoclaw_policy::config::ToolsConfig;
use picoclaw_policy::{Code, Refusal, ScheduleIntent, Verdict};
use picoclaw_sandbox::effects::ScheduleEdit;
use picoclaw_sandbox::{printable, printable_json};
use std::path::Path;
use std::sync::Arc;

const NAME: &str = "cron";

const fn optional(name: &'static str, kind: Type, about: &'static str) -> Parameter {
    Parameter { name, kind, need: Need::Optional, about }
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "action",
        kind: Type::Text,
        need: Need::Required,
        about: "What to do: `add`, `list`, `get`, `update`, `remove`, `enable` or `disable`.",
    },
    optional("name", Type::Text, "What to call the job."),
    optional(
        "message",
        Type::Text,
        "What you are told when the job is due. You answer it in a session of its own.",
    ),
    optional("command", Type::Text, "A command line to run in place of a message, as `exec` would."),
    optional("command_confirm", Type::Flag, "Accepted, and changes nothing: the configuration decides."),
    optional("at_seconds", Type::Count, "Run once, so many seconds from now."),
    optional("every_seconds", Type::Count, "Run again and again, so many seconds apart."),
    optional("cron_expr", Type::Text, "Run at the times of five fields: minute hour day month weekday."),
    optional("tz", Type::Text, "The time zone of `cron_expr`, such as `Europe/Berlin`; else the machine's."),
    optional("job_id", Type::Text, "The job that is meant."),
];

/// The tool.
pub struct CronTool {
    store: Store,
    clock: Clock,
    allow_command: bool,
    changed: Arc<dyn Fn() + Send + Sync>,
}

impl CronTool {
    /// A tool over this store; `changed` is called after every edit.
    pub fn new(
        store: Store,
        clock: Clock,
        tools: &ToolsConfig,
        changed: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { store, clock, allow_command: tools.cron_allow_command, changed }
    }

    fn act(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let action = match arguments.text("action") {
            "add" => "add",
            "list" => "list",
            "get" => "get",
            "update" => "update",
            "remove" => "remove",
            "enable" => "enable",
            "disable" => "disable",
            other => return Err(invalid(context, &format!("unknown action: {}", printable(other)))),
        };
        let id = arguments.text("job_id");
        if id.is_empty() && !matches!(action, "add" | "list") {
            return Err(invalid(context, &format!("job_id is required for {action}")));
        }
        let schedule = self.schedule(arguments).map_err(|why| invalid(context, &why.to_string()))?;
        let task = self.task(arguments, context)?;
        if action == "add" && (task.is_none() || schedule.is_none()) {
            let lacks =
                if task.is_none() { "message or command" } else { "at_seconds, every_seconds or cron_expr" };
            return Err(invalid(context, &format!("{lacks} is required for add")));
        }
        let intent =
            ScheduleIntent { action, job: id.to_owned(), detail: detail(task.as_ref(), schedule.as_ref()) };
        let permit = context.admit(NAME, ScheduleEdit(intent))?;
        let done = permit.edit(|| self.edit(action, id, arguments, task, schedule, context));
        match done {
            Ok(text) => Ok(Reply::Done(text)),
            Err(why) => Err(Reply::Failed(match why.hint() {
                // That hint is about the command line.
                Some(hint) if !matches!(why, CronError::NotFound(_)) => format!("{why}\nhint: {hint}"),
                _ => why.to_string(),
            })),
        }
    }

    fn edit(
        &self,
        action: &'static str,
        id: &str,
        arguments: &Arguments<'_>,
        task: Option<Task>,
        schedule: Option<Schedule>,
        context: &ToolContext<'_>,
    ) -> Result<String, CronError> {
        let (own, now) = (JobScope::Own(&context.subject.agent), (self.clock)());
        let lineage = &context.subject.lineage;
        let name = Some(arguments.text("name")).filter(|name| !name.is_empty()).map(str::to_owned);
        let text = match (action, task, schedule) {
            ("list", ..) => return Ok(list_text(&self.store.list(own)?)),
            ("get", ..) => {
                let job = self.store.get(id, own)?;
                return printable_json(&job).map_err(|why| CronError::Invalid(why.to_string()));
            }
            ("add", Some(task), Some(schedule)) => {
                let lineage = lineage.clone();
                let new = NewJob { name, agent: context.subject.agent.clone(), lineage, task, schedule };
                let job = self.store.add(new, now)?;
                format!("Cron job added: {} (id: {})", printable(&job.name), job.id)
            }
            ("update", task, schedule) => {
                let lineage = lineage.clone();
                let change = Change { name, task, schedule, enabled: None, lineage };
                format!("Cron job updated: {}", self.store.update(id, change, own, now)?.id)
            }
            ("remove", ..) => format!("Cron job removed: {}", self.store.remove(id, own)?.id),
            ("enable", ..) => {
                format!("Cron job enabled: {}", self.store.switch(id, Switch::On, lineage, own, now)?.id)
            }
            _ => format!("Cron job disabled: {}", self.store.switch(id, Switch::Off, lineage, own, now)?.id),
        };
        (self.changed)();
        Ok(text)
    }

    /// The schedule, if given: `at_seconds` before `every_seconds` before `cron_expr`.
    fn schedule(&self, arguments: &Arguments<'_>) -> Result<Option<Schedule>, CronError> {
        let given = |name: &str| arguments.count(name).filter(|seconds| *seconds > 0);
        if let Some(seconds) = given("at_seconds") {
            return Schedule::after(seconds, (self.clock)()).map(Some);
        }
        if let Some(seconds) = given("every_seconds") {
            return Schedule::every(seconds).map(Some);
        }
        match arguments.text("cron_expr") {
            "" => Ok(None),
            expr => Schedule::cron(expr, Some(arguments.text("tz"))).map(Some),
        }
    }

    /// The task, if given. A command is judged when it runs; here only whether `exec` is enabled.
    fn task(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Option<Task>, Reply> {
        let command = arguments.text("command");
        if command.is_empty() {
            let message = Some(arguments.text("message")).filter(|message| !message.is_empty());
            return Ok(message.map(|message| Task::Message(message.to_owned())));
        }
        let refused = |refusal| Reply::Refused(context.warden.refuse_call(NAME, context.subject, refusal));
        if !self.allow_command {
            return Err(refused(commands_disabled()));
        }
        let exec = context.warden.prepare_command(command, Path::new(""), context.subject);
        let exec = exec.map_err(|why| invalid(context, &why.to_string()))?;
        match context.warden.evaluate("exec", context.subject, &exec) {
            Verdict::Deny(refusal) if refusal.code == Code::ToolDisabled => Err(refused(refusal)),
            _ => Ok(Some(Task::Command(command.to_owned()))),
        }
    }
}

impl Tool for CronTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Schedule reminders, tasks or commands of your own, and list, change or remove them."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        self.act(arguments, context).into()
    }
}

fn detail(task: Option<&Task>, schedule: Option<&Schedule>) -> String {
    let task = task.map(|task| match task {
        Task::Message(message) => format!("message {message:?}"),
        Task::Command(command) => format!("command {command:?}"),
    });
    let parts = [schedule.map(Schedule::describe), task];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn list_text(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "No scheduled jobs".to_owned();
    }
    let line = |job: &Job| {
        let off = if job.enabled { "" } else { ", disabled" };
        format!("\n- {} (id: {}, {}{off})", printable(&job.name), job.id, printable(&job.schedule.describe()))
    };
    format!("Scheduled jobs:{}", jobs.iter().map(line).collect::<String>())
}

fn invalid(context: &ToolContext<'_>, why: &str) -> Reply {
    Reply::Refused(context.warden.refuse_call(NAME, context.subject, Refusal::invalid_arguments(why)))
}
