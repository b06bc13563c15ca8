//! `picoclaw cron`: the operator's access to scheduled jobs.
//!
//! Edits go through the store, under its lock; a run goes through the warden like any other call.

use crate::app::{self, AgentServices};
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{print, units};
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use picoclaw_agent::schedule::cron::{
    CronError, Job, JobExecutor, JobResult, JobScope, LastStatus, NewJob, Schedule, Store, Switch, Task,
    now_ms, run_now, system_clock,
};
use picoclaw_policy::{AgentId, Origin};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::terminal::{SignalAction, on_signals};
use picoclaw_sandbox::{printable, printable_json, printable_lines};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// What `picoclaw cron` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// Show every job with its next and its last run
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a job; a running gateway picks it up within seconds
    Add(AddArguments),
    /// Remove a job
    Remove {
        /// The job, by its id or its name
        #[arg(value_name = "JOB")]
        id: String,
    },
    /// Switch a job on
    Enable {
        /// The job, by its id or its name
        #[arg(value_name = "JOB")]
        id: String,
    },
    /// Switch a job off
    Disable {
        /// The job, by its id or its name
        #[arg(value_name = "JOB")]
        id: String,
    },
    /// Run a job now, in this process; its schedule stays as it is
    Run {
        /// The job, by its id or its name
        #[arg(value_name = "JOB")]
        id: String,
    },
}

/// `picoclaw cron add`.
#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The name of the job
    #[arg(short, long)]
    name: String,
    /// What it does
    #[command(flatten)]
    what: WhatArguments,
    /// When
    #[command(flatten)]
    when: WhenArguments,
    /// The agent that owns the job; the default agent by default
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The time zone of an expression, such as `Europe/Berlin`; the system's by default
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
}

/// What a job does.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct WhatArguments {
    /// Send this message to the agent
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Run this command line, as the agent's `exec` would
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    command: Option<String>,
}

/// When a job runs.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct WhenArguments {
    /// Repeatedly: every so many seconds, or a time such as `90s`, `30m` or `1h`
    #[arg(short, long, value_name = "TIME", value_parser = parse_seconds)]
    every: Option<u64>,
    /// At the times of an expression: minute hour day month weekday
    #[arg(short, long, value_name = "EXPR", allow_hyphen_values = true)]
    cron: Option<String>,
    /// Once: so many seconds from now, or after a time such as `10m`
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    at: Option<u64>,
}

/// A number of seconds, or a time with a unit.
fn parse_seconds(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(seconds) => Ok(seconds),
        Err(_) => units::parse_duration(text).map(|time| time.as_secs()).map_err(|why| why.to_string()),
    }
}

/// The id of the job that `named` is the id or the name of.
fn find_id(store: &Store, named: &str) -> Result<Result<String, anyhow::Error>, CronError> {
    let jobs = store.list(JobScope::All)?;
    if jobs.iter().any(|job| job.id == named) {
        return Ok(Ok(named.to_owned()));
    }
    let ids: Vec<_> = jobs.iter().filter(|job| job.name == named).map(|job| job.id.clone()).collect();
    Ok(match ids.as_slice() {
        // The store says that there is none.
        [] => Ok(named.to_owned()),
        [id] => Ok(id.clone()),
        ids => {
            let shown = printable(named);
            Err(anyhow::anyhow!(
                "{} jobs are called `{shown}`\nhint: name one by its id: {}",
                ids.len(),
                ids.join(", ")
            ))
        }
    })
}

/// Runs the command.
pub(crate) fn run(command: &CronCommand, settings: &Settings) -> Result<Exit> {
    let store = Store::open(&settings.home)?;
    let now = now_ms();
    let id = match command {
        CronCommand::Remove { id }
        | CronCommand::Enable { id }
        | CronCommand::Disable { id }
        | CronCommand::Run { id } => match find_id(&store, id)? {
            Ok(id) => id,
            Err(why) => return Ok(exit::bad_usage(&why)),
        },
        CronCommand::List { .. } | CronCommand::Add(_) => String::new(),
    };
    let id = id.as_str();
    let done = match command {
        CronCommand::List { json } => return print_jobs(&store.list(JobScope::All)?, *json),
        CronCommand::Add(arguments) => match parse_job(arguments, settings, now) {
            Ok(added) => {
                store.add(added, now).map(|job| format!("Added job '{}' ({})", printable(&job.name), job.id))
            }
            Err(why) => return Ok(exit::bad_usage(&why)),
        },
        CronCommand::Remove { .. } => {
            store.remove(id, JobScope::All).map(|job| format!("Removed job {}", job.id))
        }
        CronCommand::Enable { .. } => switch_job(&store, id, Switch::On, now),
        CronCommand::Disable { .. } => switch_job(&store, id, Switch::Off, now),
        CronCommand::Run { .. } => match run_job(&store, id, settings)? {
            Ok(done) => return print_outcome(&done),
            Err(why) => Err(why),
        },
    };
    match done {
        Ok(text) => {
            print::line(&format!("✓ {text}"))?;
            Ok(Exit::Done)
        }
        Err(CronError::NotFound(id)) => {
            print::note(&format!("✗ Job {} not found", printable(&id)));
            Ok(Exit::Refused)
        }
        Err(why) => {
            let hint = why.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            print::note(&format!("error: {why}{hint}"));
            let is_usage = matches!(why, CronError::Invalid(_) | CronError::Never);
            Ok(if is_usage { Exit::Usage } else { Exit::Refused })
        }
    }
}

fn switch_job(store: &Store, id: &str, to: Switch, now: i64) -> Result<String, CronError> {
    let job = store.switch(id, to, &[], JobScope::All, now)?;
    let word = if to == Switch::On { "enabled" } else { "disabled" };
    Ok(format!("Job '{}' {word}", printable(&job.name)))
}

/// The job from the arguments.
fn parse_job(arguments: &AddArguments, settings: &Settings, now: i64) -> Result<NewJob> {
    let AddArguments { name, what, when, agent, tz } = arguments;
    ensure!(!name.trim().is_empty(), "a job needs a name");
    ensure!(tz.is_none() || when.cron.is_some(), "`--tz` is the zone of an expression: it goes with `-c`");
    let agent = match agent {
        Some(name) => app::subject(settings, Some(name), Origin::Cron)?.agent,
        None => Some(AgentId::main())
            .filter(|main| settings.config.agents.iter().any(|known| known.id == *main))
            .unwrap_or_else(|| settings.config.default_agent.clone()),
    };
    let task = match (&what.message, &what.command) {
        (_, Some(command)) => {
            ensure!(
                settings.config.tools.cron_allow_command,
                "scheduled commands are switched off by `tools.cron.allow_command`"
            );
            Task::Command(command.clone())
        }
        (message, None) => Task::Message(message.clone().unwrap_or_default()),
    };
    let schedule = match (when.at, when.every, &when.cron) {
        (Some(seconds), ..) => Schedule::after(seconds, now),
        (_, Some(seconds), _) => Schedule::every(seconds),
        (.., expr) => Schedule::cron(expr.as_deref().unwrap_or_default(), tz.as_deref()),
    };
    let schedule = schedule.map_err(|why| match why.hint() {
        Some(hint) => anyhow::anyhow!("{why}\nhint: {hint}"),
        None => anyhow::anyhow!("{why}"),
    })?;
    Ok(NewJob { name: Some(name.clone()), agent, lineage: Vec::new(), task, schedule })
}

/// Runs a job with the services of a turn; an interrupt stops it.
fn run_job(store: &Store, id: &str, settings: &Settings) -> Result<Result<JobResult, CronError>> {
    if let Err(why) = store.get(id, JobScope::All) {
        return Ok(Err(why));
    }
    let halt = CancelToken::new();
    let heard = halt.clone();
    // The first signal stops the run, which is then recorded; the second ends the process.
    on_signals(move |_| {
        let is_first = !heard.is_cancelled();
        heard.cancel();
        if is_first { SignalAction::Continue } else { SignalAction::Die }
    })
    .context("could not listen for signals")?;
    let _progress = Progress::of("running the job");
    let AgentServices { executor, runner, .. } = app::services(settings)?;
    let jobs = JobExecutor::new(runner.clone(), &executor, &settings.config, Arc::new(|_, _| {}));
    let runtime = app::runtime()?;
    let done = runtime.block_on(run_now(store, id, &jobs, &system_clock(), &halt));
    runtime.block_on(runner.close());
    Ok(done)
}

fn print_outcome(done: &JobResult) -> Result<Exit> {
    match done.status {
        LastStatus::Ok => {
            print::line(&printable_lines(&done.text))?;
            Ok(Exit::Done)
        }
        status => {
            print::note(&format!("{}: {}", status.as_str(), printable_lines(&done.text)));
            Ok(Exit::Refused)
        }
    }
}

fn print_jobs(jobs: &[Job], as_json: bool) -> Result<Exit> {
    if as_json {
        print::line(&printable_json(&jobs)?)?;
        return Ok(Exit::Done);
    }
    if jobs.is_empty() {
        print::line("No scheduled jobs.")?;
        return Ok(Exit::Done);
    }
    print::line("Scheduled Jobs:")?;
    for job in jobs {
        print::line(&job_text(job))?;
    }
    Ok(Exit::Done)
}

fn job_text(job: &Job) -> String {
    let (kind, text) = match job.task() {
        Task::Message(message) => ("Message", message),
        Task::Command(command) => ("Command", command),
    };
    let mut lines = vec![
        format!("  {} ({})", printable(&job.name), printable(&job.id)),
        format!("    Agent: {}", printable(&job.agent)),
        format!("    Schedule: {}", printable(&job.schedule.describe())),
        format!("    {kind}: {}", printable(&text)),
        format!("    Status: {}", if job.enabled { "enabled" } else { "disabled" }),
    ];
    if let Some(next) = job.state.next_run_at_ms {
        lines.push(format!("    Next run: {}", format_time(next)));
    }
    if let (Some(last), Some(status)) = (job.state.last_run_at_ms, job.state.last_status) {
        let why = job.state.last_error.as_deref().map(|why| format!(": {}", printable(why)));
        lines.push(format!(
            "    Last run: {} {}{}",
            format_time(last),
            status.as_str(),
            why.unwrap_or_default()
        ));
    }
    lines.join("\n")
}

fn format_time(ms: i64) -> String {
    let text = Timestamp::at(UNIX_EPOCH + Duration::from_millis(ms.max(0).unsigned_abs())).to_string();
    format!("{}Z", text.get(..19).unwrap_or_default())
}
