//! The runner: opens what a turn needs and runs it. Turns of one session run one after the other.

use super::active_turn::{ActiveTurn, TurnRegistry};
use super::conversation::Conversation;
use super::event::Event;
use super::extensions::Extensions;
use super::instruction_history::{HistoryError, InstructionHistory};
use super::prompt::{Instructions, PromptSources};
use super::repair_history::repair_history;
use super::subagent_slots::{SessionCounts, SubagentSlot, SubagentSlots};
use super::token_budget::{BudgetStore, TokenBudget};
use super::tool_calls;
use super::tool_specs;
use super::turn::{Turn, TurnError, TurnOutcome};
use super::turn_loop::{SessionRollback, TurnContext, TurnLoop};
use super::turn_slots::{TurnSlot, TurnSlots};
use crate::call::Reply;
use crate::executor::ToolExecutor;
use crate::hooks::{HookEvent, TurnHooks};
use crate::message::{Message, ToolCall};
use crate::providers::{ModelError, Models, ProviderKind, Request};
use crate::sessions::{Session, Sessions};
use picoclaw_policy::config::Config;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::root::RootError;
use serde_json::json;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Messages of a subagent's turn that its model is sent.
const MAX_SUBAGENT_MESSAGES: usize = 50;

/// How long the subagents of a turn that ended may take to end as well.
const CHILDREN_GRACE: Duration = Duration::from_secs(6);

/// Runs turns. Clones share everything.
#[derive(Clone)]
pub struct Runner {
    executor: ToolExecutor,
    pub(super) config: Arc<Config>,
    pub(super) models: Models,
    pub(super) sessions: Sessions,
    pub(super) redactor: Redactor,
    prompt_sources: Arc<PromptSources>,
    history: Arc<InstructionHistory>,
    budgets: BudgetStore,
    extensions: Arc<Extensions>,
    turns: Arc<TurnRegistry>,
    session_counts: Arc<SessionCounts>,
    turn_slots: TurnSlots,
}

/// Where the messages of a turn are stored.
#[derive(Debug)]
enum History {
    Session,
    /// In the session, and earlier messages are not read.
    AppendOnly,
    /// Nowhere; these are the earlier messages.
    Given(Vec<Message>),
}

/// The turn that starts a subagent, and the slot that the subagent runs in.
struct Parent<'p> {
    turn: &'p ActiveTurn,
    slot: Arc<SubagentSlot>,
}

/// Why there can be no runner.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// A workspace cannot be read.
    #[error("could not open the workspaces: {0}")]
    Workspaces(#[from] RootError),
    /// The history of the instructions cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The sessions cannot be opened.
    #[error(transparent)]
    Sessions(#[from] crate::sessions::SessionError),
    /// A state file cannot be opened.
    #[error(transparent)]
    State(#[from] picoclaw_sandbox::state_dir::StateError),
}

impl Runner {
    /// A runner with these tools and models, for this instance.
    pub fn open(
        executor: ToolExecutor,
        config: Arc<Config>,
        models: Models,
        instance: &Instance,
    ) -> Result<Self, RunnerError> {
        let redactor = Redactor::new(&config.secrets);
        Ok(Self {
            sessions: Sessions::open(instance.home(), redactor.clone())?,
            prompt_sources: Arc::new(PromptSources::open(instance)?),
            history: Arc::new(InstructionHistory::open(instance.home(), &config)?),
            budgets: BudgetStore::open(instance.home())?,
            turn_slots: TurnSlots::new(config.turns.max_parallel_turns),
            extensions: Arc::new(Extensions::new(Arc::clone(&config), instance.home().to_owned())),
            turns: Arc::default(),
            session_counts: Arc::default(),
            executor,
            config,
            models,
            redactor,
        })
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The tools.
    pub(crate) fn executor(&self) -> &ToolExecutor {
        &self.executor
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The running turns.
    pub(crate) fn turns(&self) -> &Arc<TurnRegistry> {
        &self.turns
    }

    /// `text` with configured secrets filtered.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor.clean(text).into_owned()
    }

    /// What would answer a turn of `agent`.
    pub(crate) fn provider_kind(
        &self,
        agent: &AgentId,
        model: Option<&str>,
    ) -> Result<ProviderKind, ModelError> {
        Ok(self.models.chain(agent, model)?.kind())
    }

    /// Runs one turn in its session.
    pub async fn turn(&self, turn: Turn<'_>) -> Result<TurnOutcome, TurnError> {
        let slot = self.turn_slots.take(turn.halt).await.ok_or(TurnError::Halted)?;
        self.run(&turn, History::Session, Some(slot), None).await
    }

    /// Runs one turn after these earlier messages, without a session.
    pub async fn run_with_history(
        &self,
        turn: Turn<'_>,
        history: Vec<Message>,
    ) -> Result<TurnOutcome, TurnError> {
        let slot = self.turn_slots.take(turn.halt).await.ok_or(TurnError::Halted)?;
        self.run(&turn, History::Given(history), Some(slot), None).await
    }

    /// Runs one turn without history and without a session. It takes no turn slot: its caller has
    /// one.
    pub async fn run_ephemeral(&self, turn: Turn<'_>) -> Result<TurnOutcome, TurnError> {
        self.run(&turn, History::Given(Vec::new()), None, None).await
    }

    /// Runs a subagent's turn. The user's turn above it has the turn slot.
    pub(crate) async fn run_subagent(
        &self,
        turn: Turn<'_>,
        parent: &ActiveTurn,
        slot: Arc<SubagentSlot>,
    ) -> Result<TurnOutcome, TurnError> {
        let turn_slot = parent.turn_slot.clone();
        let parent = Parent { turn: parent, slot };
        self.run(&turn, History::Given(Vec::new()), turn_slot, Some(parent)).await
    }

    /// Runs one tool call that no model made, such as a scheduled command, with the hooks of a
    /// turn.
    pub async fn run_call(
        &self,
        executor: &ToolExecutor,
        call: &ToolCall,
        turn: &Turn<'_>,
    ) -> Result<Reply, TurnError> {
        if turn.halt.is_cancelled() {
            return Err(TurnError::Halted);
        }
        let hooks = self.hooks(turn, None).await?;
        let context = TurnContext { turn, executor, hooks: &hooks, slot: None, redactor: &self.redactor };
        tool_calls::run(&context, 0, call).await
    }

    /// Starts hooks and MCP servers before the first turn needs them.
    pub async fn start_extensions(&self) -> Result<(), TurnError> {
        let log = |event: Event| {
            if let Event::Notice(text) = event {
                tracing::warn!(target: "mcp", "{text}");
            }
        };
        self.extensions.ready(&self.executor, &log).await.map(drop)
    }

    /// Gives hooks and MCP servers time to exit.
    pub async fn close(&self) {
        self.extensions.close().await;
    }

    async fn hooks(&self, turn: &Turn<'_>, parent: Option<&Parent<'_>>) -> Result<TurnHooks, TurnError> {
        let hooks = self.extensions.ready(&self.executor, turn.events).await?;
        Ok(TurnHooks::new(hooks, &turn.subject, parent.map(|parent| parent.turn.hook_id.clone())))
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        history: History,
        slot: Option<Arc<TurnSlot>>,
        parent: Option<Parent<'_>>,
    ) -> Result<TurnOutcome, TurnError> {
        let (turn, instructions) = self.bound(turn).await?;
        let turn = &turn;
        let hooks = self.hooks(turn, parent.as_ref()).await?;
        let payload = json!({"input": self.redactor.clean(&turn.input)});
        hooks.notify(&HookEvent { kind: "agent.turn.start", severity: "info", payload });
        // A turn that is dropped ends as well.
        let mut end = TurnEnd { hooks: &hooks, severity: "warn", status: "aborted" };
        let outcome = self.run_inner(turn, history, slot, parent, (&hooks, instructions)).await;
        (end.severity, end.status) = if outcome.is_ok() { ("info", "completed") } else { ("error", "error") };
        drop(end);
        outcome
    }

    async fn run_inner(
        &self,
        turn: &Turn<'_>,
        history: History,
        slot: Option<Arc<TurnSlot>>,
        parent: Option<Parent<'_>>,
        (hooks, instructions): (&TurnHooks, String),
    ) -> Result<TurnOutcome, TurnError> {
        let chain = self.models.chain(&turn.subject.agent, turn.model.as_deref())?;
        let history = match (history, chain.kind()) {
            // A direct command needs no earlier message; reading them would make it slower with
            // every command.
            (History::Session, ProviderKind::Direct) => History::AppendOnly,
            (history, _) => history,
        };
        let parent_budget = parent.as_ref().map(|parent| parent.turn.budget.clone());
        let (mut session, budget) = self.prepare(&turn.subject, history, parent_budget).await?;
        let (child_events, mut events) = unbounded_channel();
        let active = self.turns.register(ActiveTurn {
            subject: turn.subject.clone(),
            halt: turn.halt.clone(),
            model: turn.model.clone(),
            budget,
            runner: self.clone(),
            runtime: Handle::current(),
            hook_id: hooks.turn_id().to_owned(),
            turn_slot: slot.clone(),
            subagent_slots: match &parent {
                Some(parent) => Arc::clone(&parent.turn.subagent_slots),
                None => SubagentSlots::new(&self.config.turns.subturn, &turn.subject, &self.session_counts),
            },
            subagent_slot: parent.as_ref().map(|parent| Arc::clone(&parent.slot)),
            children: Arc::default(),
            child_events,
        });
        let context = TurnContext {
            turn,
            executor: &self.executor,
            hooks,
            slot: slot.as_deref(),
            redactor: &self.redactor,
        };
        let messages = repair_history(session.take_history());
        let turn_loop = TurnLoop {
            context: &context,
            chain: &chain,
            active: &active,
            conversation: Conversation::new(
                self.request(&turn.subject),
                self.config.turns.context_window,
                &instructions,
                session.summary(),
                messages,
                session.end(),
                self.redactor.clone(),
            ),
            session: SessionRollback::new(session),
            max_rounds: self.config.turns.max_tool_iterations,
            max_messages: parent.is_some().then_some(MAX_SUBAGENT_MESSAGES),
            outcome: TurnOutcome::default(),
        };
        let outcome = forward_events(turn_loop.run(), &mut events, &context).await;
        // The results of subagents that still run have no reader any more.
        active.children.stop();
        let settled = tokio::time::timeout(CHILDREN_GRACE, active.children.settled());
        let _ = forward_events(settled, &mut events, &context).await;
        outcome
    }

    /// Reads the instructions of a turn, and bounds it by every agent on whose behalf they could
    /// have been written.
    async fn bound<'t>(&self, turn: &Turn<'t>) -> Result<(Turn<'t>, String), TurnError> {
        let agent = &turn.subject.agent;
        let known = self.config.agents.iter().find(|known| known.id == *agent);
        let name = known.map(|known| known.name.clone()).ok_or_else(|| TurnError::NoAgent(agent.clone()))?;
        let (runner, subject) = (self.clone(), turn.subject.clone());
        let read = tokio::task::spawn_blocking(move || {
            let Instructions { text, files } =
                runner.prompt_sources.instructions(&name, &subject, jiff::Timestamp::now());
            (text, runner.history.bounds(&subject.agent, &files))
        });
        let (text, bounds) = read.await.map_err(|error| TurnError::Broken(error.to_string()))?;
        let subject = turn.subject.clone().bounded_by(bounds);
        if subject.lineage.len() > turn.subject.lineage.len() {
            let names: Vec<_> = subject.lineage.iter().map(|agent| format!("`{agent}`")).collect();
            (turn.events)(Event::Notice(format!(
                "this turn may do only what {} may: its instructions were not trusted (`picoclaw status` shows which, `picoclaw trust FILE` trusts one)",
                names.join(", ")
            )));
        }
        let bounded = Turn {
            subject,
            input: turn.input.clone(),
            model: turn.model.clone(),
            events: turn.events,
            steering: turn.steering,
            halt: turn.halt,
        };
        Ok((bounded, text))
    }

    /// The agents that bound a turn of `agent` whose message is a file of its workspace.
    pub(crate) fn bounds_of_file(&self, agent: &AgentId, path: &str) -> Vec<AgentId> {
        let file = self.prompt_sources.file(agent, path);
        self.history.bounds(agent, file.as_slice())
    }

    /// Opens the session and checks the budget, on a thread that may block.
    async fn prepare(
        &self,
        subject: &Subject,
        history: History,
        parent_budget: Option<TokenBudget>,
    ) -> Result<(Session, TokenBudget), TurnError> {
        let (runner, subject) = (self.clone(), subject.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            let session = match history {
                History::Session => runner.sessions.lock(&subject.agent, &subject.session)?,
                History::AppendOnly => runner.sessions.lock_for_append(&subject.agent, &subject.session)?,
                History::Given(messages) => Session::in_memory(messages, runner.redactor.clone()),
            };
            let budget = runner.budgets.of_turn(&subject.agent, &runner.config, parent_budget.as_ref())?;
            Ok((session, budget))
        });
        prepared.await.map_err(|error| TurnError::Broken(error.to_string()))?
    }

    /// A request without messages.
    fn request(&self, subject: &Subject) -> Request {
        Request {
            messages: Vec::new(),
            tools: tool_specs::visible(&self.executor, subject),
            max_tokens: self.config.turns.max_tokens,
            temperature: self.config.turns.temperature,
            agent: subject.agent.clone(),
        }
    }
}

/// Notifies the observers that a turn has ended, when it is dropped.
struct TurnEnd<'h> {
    hooks: &'h TurnHooks,
    severity: &'static str,
    status: &'static str,
}

impl Drop for TurnEnd<'_> {
    fn drop(&mut self) {
        let payload = json!({"status": self.status});
        self.hooks.notify(&HookEvent { kind: "agent.turn.end", severity: self.severity, payload });
    }
}

/// Waits for `work`, and emits the events of subagents meanwhile.
async fn forward_events<T>(
    work: impl Future<Output = T>,
    events: &mut UnboundedReceiver<Event>,
    context: &TurnContext<'_>,
) -> T {
    let mut work = pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => context.emit(event),
            done = &mut work => break done,
        }
    };
    while let Ok(event) = events.try_recv() {
        context.emit(event);
    }
    done
}
