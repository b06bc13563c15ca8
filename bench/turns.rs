//! The loop: a turn of a thousand calls beside the same calls without a loop, and what it keeps in memory.
//!
//! The model is a script, so that what remains is the loop's own: messages, sessions, events, the bridge between waiting and
//! working threads. What a call itself takes is measured in the same run, and taken off.
//!
//! Invariant: every turn has a session of its own, in the directory that was given.

use super::Stop;
use super::instance::FILE;
use super::measure::Figures;
use super::peers;
use super::process::resident;
use super::table::Table;
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::providers::Models;
use picoclaw_agent::run::{Runner, Steering, Turn};
use picoclaw_agent::tools::{Registry, ToolContext, unwatched};
use picoclaw_policy::config::{Config, ModelConfig};
use picoclaw_policy::{AgentId, Origin, Policy, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Calls in one turn.
pub(crate) const CALLS: usize = 1_000;

/// What the model says.
const SCRIPT: &str = "replies.jsonl";

/// Turns that are timed, and turns over which memory must not grow.
pub(crate) const TURNS: usize = 5;
const LONG: usize = 10;

/// Everything that a turn needs.
pub(crate) struct Stage {
    executor: ToolExecutor,
    config: Arc<Config>,
    instance: Instance,
    runtime: tokio::runtime::Runtime,
}

/// What the loop costs, in memory and on a disk.
pub(crate) fn measured(quiet: &Path, disk: &Path, table: &mut Table) -> Result<(), Stop> {
    let call = json!({"name": "read_file", "arguments": {"path": FILE}});
    let stage = Stage::set(&quiet.join("turns"), &call, |_| {})?;
    let added = stage.added()?;
    let what = format!("{CALLS} `read_file` calls in one turn: added by the loop, a call");
    table.told(&what, &added.time());
    let added = Stage::set(&disk.join("turns"), &call, |_| {})?.added()?;
    table.told("  the same on a disk", &added.time());
    let before = resident(std::process::id())?;
    for turn in 0..LONG {
        stage.turn(&format!("long-{turn}"))?;
    }
    let grown = resident(std::process::id())? - before;
    let what = format!("  memory that {} more calls add", LONG * CALLS);
    let shown = format!("{:.2} MB on {:.1} MB", grown / 1e6, before / 1e6);
    table.told(&what, &shown);
    Ok(())
}

impl Stage {
    /// A stage on which the model makes this call again and again.
    pub(crate) fn set(
        home: &Path,
        call: &serde_json::Value,
        tune: impl FnOnce(&mut Config),
    ) -> Result<Self, Stop> {
        let mut config = Config::default();
        tune(&mut config);
        let script = home.join(SCRIPT);
        config.turns.max_tool_iterations = 2 * CALLS as u64;
        // Nothing is to be left out while the loop is timed.
        config.turns.context_window = 1 << 40;
        config.models = vec![scripted(&script)];
        let instance = Instance::prepare(home, &config, &[])?;
        let zones = instance.zones();
        let files = Files::open(zones.clone(), &instance.locks())?;
        let exec_env = ExecEnv::new(&config, &instance, std::env::vars_os())?;
        let policy = Policy::compile(&config, zones, Vec::new())?;
        let warden = Warden::new(policy, files, exec_env, Ledger::open(&instance.ledger())?);
        let registry = Registry::new(&config.tools, Redactor::default());
        let executor = ToolExecutor::new(Arc::new(warden), Arc::new(registry));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stage = Self { executor, config: Arc::new(config), instance, runtime };
        stage.alone("write_file", json!({"path": FILE, "content": "buy milk\n"}))?;
        peers::replace(&peers::directory(home)?, SCRIPT, replies(call).as_bytes())?;
        Ok(stage)
    }

    /// What a call takes in the loop beyond what it takes alone, turn by turn.
    fn added(&self) -> Result<Figures, Stop> {
        let mut added = Vec::with_capacity(TURNS);
        for turn in 0..TURNS {
            let began = Instant::now();
            for _ in 0..CALLS {
                self.alone("read_file", json!({"path": FILE}))?;
            }
            let alone = began.elapsed().as_nanos() as f64;
            let began = Instant::now();
            self.turn(&format!("timed-{turn}"))?;
            added.push((began.elapsed().as_nanos() as f64 - alone) / CALLS as f64);
        }
        Ok(Figures::new(added))
    }

    /// One turn of [`CALLS`] calls.
    pub(crate) fn turn(&self, session: &str) -> Result<(), Stop> {
        // Models that were made anew, so that the script begins at its beginning.
        let models = Models::new(&self.config);
        let runner = Runner::open(self.executor.clone(), Arc::clone(&self.config), models, &self.instance)?;
        picoclaw_agent::subagent::install(&runner);
        let turn = Turn {
            subject: subject(session),
            input: "read it a thousand times".to_owned(),
            model: None,
            events: &|_| {},
            steering: &Steering::new(),
            halt: &CancelToken::new(),
        };
        let ending = self.runtime.block_on(runner.turn(turn))?;
        match ending.rounds {
            rounds if rounds == CALLS as u64 + 1 => Ok(()),
            other => Err(format!("the turn had {other} rounds: {}", ending.answer).into()),
        }
    }

    /// One call without a loop.
    fn alone(&self, tool: &str, arguments: serde_json::Value) -> Result<(), Stop> {
        let call = Call { tool: tool.to_owned(), arguments, subject: subject("alone") };
        let halt = CancelToken::new();
        let context = ToolContext::new(self.executor.warden(), &call.subject, &halt, &unwatched);
        match self.executor.registry().run_unattended(&call, &context) {
            Reply::Done(_) => Ok(()),
            other => Err(other.text().into()),
        }
    }
}

fn replies(call: &serde_json::Value) -> String {
    let call = json!({"tool_calls": [call]}).to_string() + "\n";
    call.repeat(CALLS) + &json!({"content": "done"}).to_string()
}

fn scripted(script: &Path) -> ModelConfig {
    ModelConfig {
        api_base: Some(format!("file://{}", script.display())),
        ..ModelConfig::plain("script", "scripted/script")
    }
}

fn subject(session: &str) -> Subject {
    Subject::root(Origin::Cli, AgentId::main(), session)
}
