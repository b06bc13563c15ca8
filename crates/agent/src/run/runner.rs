//! The runner: opens what a turn needs, and lets it run.
//!
//! Invariant: turns of one session follow each other; turns of different ones do not wait, as far as the configuration lets them.

use super::conversation::Conversation;
use super::escort::Escort;
use super::event::Event;
use super::hygiene;
use super::lane::{Lane, Lanes};
use super::offer;
use super::prompt::Texts;
use super::purse::{Allowance, Purse};
use super::retinue::Retinue;
use super::sitting::{Sitting, Standing};
use super::turn::{Ending, Turn, TurnError};
use crate::hall::Hall;
use crate::message::Message;
use crate::providers::{ModelError, Models, ProviderKind, Request, Usage};
use crate::sessions::{Session, Sessions};
use crate::spawn::{Above, Arrival, Attending, Kin};
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

/// Runs turns. Copies are the same runner.
#[derive(Clone)]
pub struct Runner {
    pub(super) hall: Hall,
    pub(super) config: Arc<Config>,
    pub(super) models: Models,
    pub(super) sessions: Sessions,
    pub(super) redactor: Redactor,
    texts: Arc<Texts>,
    purse: Purse,
    pub(super) retinue: Arc<Retinue>,
    /// The turns that run, for their subagents.
    kin: Arc<Kin>,
    lanes: Lanes,
}

/// Where a turn's words are kept.
#[derive(Debug)]
enum Memory {
    Session,
    /// In the session, and nobody asks what was said before.
    SessionUnread,
    Nowhere,
    /// Nowhere, and this is what was said before.
    Given(Vec<Message>),
}

/// The most messages of a subagent's turn that its model is sent.
const SUBAGENT_MESSAGES: usize = 50;

/// How long subagents of a turn that is given up may take to come to their end.
const GRACE: Duration = Duration::from_secs(6);

/// Why there can be no runner.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// A workspace cannot be read.
    #[error("could not open the workspaces: {0}")]
    Texts(#[from] RootError),
    /// The sessions cannot be had.
    #[error(transparent)]
    Sessions(#[from] crate::sessions::SessionError),
    /// A file of the program's own cannot be had.
    #[error(transparent)]
    State(#[from] picoclaw_sandbox::state_dir::StateError),
}

impl Runner {
    /// A runner over this hall, for this instance.
    pub fn open(
        hall: Hall,
        config: Arc<Config>,
        models: Models,
        instance: &Instance,
    ) -> Result<Self, RunnerError> {
        let redactor = Redactor::new(&config.secrets);
        let kin = Arc::new(Kin::default());
        hall.refit(hall.registry().with(kin.tools(&config)));
        Ok(Self {
            kin,
            sessions: Sessions::open(instance.home(), redactor.clone())?,
            texts: Arc::new(Texts::open(instance)?),
            purse: Purse::open(instance.home())?,
            lanes: Lanes::new(config.turns.max_parallel_turns),
            retinue: Arc::new(Retinue::new(Arc::clone(&config), instance.home().to_owned())),
            hall,
            config,
            models,
            redactor,
        })
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The tools, behind the desk.
    pub(crate) fn hall(&self) -> &Hall {
        &self.hall
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// A text without configured secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor.clean(text).into_owned()
    }

    /// What would answer.
    pub(crate) fn provider_kind(
        &self,
        agent: &AgentId,
        model: Option<&str>,
    ) -> Result<ProviderKind, ModelError> {
        Ok(self.models.chain(agent, model)?.kind())
    }

    /// Runs one turn in its session.
    pub async fn turn(&self, turn: Turn<'_>) -> Result<Ending, TurnError> {
        let lane = self.lanes.take(turn.halt).await.ok_or(TurnError::Halted)?;
        self.run(&turn, Memory::Session, Some(lane), None).await
    }

    /// Runs one turn that goes on from what its caller says was said before, and is not remembered.
    pub async fn go_on(&self, turn: Turn<'_>, said: Vec<Message>) -> Result<Ending, TurnError> {
        let lane = self.lanes.take(turn.halt).await.ok_or(TurnError::Halted)?;
        self.run(&turn, Memory::Given(said), Some(lane), None).await
    }

    /// Runs one turn that remembers nothing and is not remembered. It takes no lane: whoever waits for it has one.
    pub async fn aside(&self, turn: Turn<'_>) -> Result<Ending, TurnError> {
        self.run(&turn, Memory::Nowhere, None, None).await
    }

    /// Waits until hooks and servers are there, before the first turn needs them.
    pub async fn gather(&self) -> Result<(), TurnError> {
        let tell = |event: Event| {
            if let Event::Notice(text) = event {
                tracing::warn!(target: "mcp", "{text}");
            }
        };
        self.retinue.ready(&self.hall, &tell).await.map(drop)
    }

    /// Gives hooks and servers time to leave.
    pub async fn close(&self) {
        self.retinue.close().await;
    }

    /// Runs a subagent's turn. It takes no lane either: the turn above it has one.
    pub(crate) async fn below(&self, turn: Turn<'_>, above: &Above) -> Result<Ending, TurnError> {
        self.run(&turn, Memory::Nowhere, above.lane.clone(), Some(above)).await
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        memory: Memory,
        lane: Option<Arc<Lane>>,
        above: Option<&Above>,
    ) -> Result<Ending, TurnError> {
        let hooks = self.retinue.ready(&self.hall, turn.events).await?;
        let escort = Escort::new(hooks, &turn.subject, above.map(|above| above.turn.clone()));
        let told = |event: Event| {
            escort.tell_event(&event);
            (turn.events)(event);
        };
        escort.tell("agent.turn.start", "info", json!({"input": self.redactor.clean(&turn.input)}));
        let watched = Turn { events: &told, ..turn.again() };
        let ended = self.sit(&watched, memory, (lane, above), &escort).await;
        let (severity, status) = if ended.is_ok() { ("info", "completed") } else { ("error", "error") };
        escort.tell("agent.turn.end", severity, json!({"status": status}));
        ended
    }

    async fn sit(
        &self,
        turn: &Turn<'_>,
        memory: Memory,
        (lane, above): (Option<Arc<Lane>>, Option<&Above>),
        escort: &Escort,
    ) -> Result<Ending, TurnError> {
        let agent = &turn.subject.agent;
        let name = self.name_of(agent).ok_or_else(|| TurnError::NoAgent(agent.clone()))?;
        let chain = self.models.chain(agent, turn.model.as_deref())?;
        let (runner, subject) = (self.clone(), turn.subject.clone());
        let left = above.map(|above| above.allowance.clone());
        let memory = match (memory, chain.kind()) {
            // A command line is taken as it is: a long session costs the thousandth command what it cost the first.
            (Memory::Session, ProviderKind::Direct) => Memory::SessionUnread,
            (memory, _) => memory,
        };
        // Files and locks may wait, and this thread must not.
        let prepared =
            tokio::task::spawn_blocking(move || runner.prepare(&name, &subject, memory, left.as_ref())).await;
        let (mut session, instructions, allowance) =
            prepared.map_err(|why| TurnError::Broken(why.to_string()))??;
        let mut attending = self.kin.enter(Arrival {
            subject: &turn.subject,
            halt: turn.halt,
            model: turn.model.clone(),
            allowance: allowance.clone(),
            runner: self.clone(),
            turn: escort.turn(),
            lane: lane.clone(),
            above,
        });
        let kin = attending.present();
        let history = hygiene::tidy(session.take_history());
        let conversation = Conversation::new(
            self.request(&turn.subject),
            self.config.turns.context_window,
            &instructions,
            session.summary(),
            history,
            session.end(),
            self.redactor.clone(),
        );
        let so_far = Ending {
            answer: String::new(),
            model: String::new(),
            usage: Usage::default(),
            rounds: 0,
            unasked: false,
            failed: false,
        };
        let sitting = Sitting {
            turn,
            hall: &self.hall,
            escort,
            lane: lane.as_deref(),
            chain: &chain,
            redactor: &self.redactor,
            conversation,
            standing: Standing::new(session),
            allowance,
            most_rounds: self.config.turns.max_tool_iterations,
            most_messages: above.map(|_| SUBAGENT_MESSAGES),
            kin: &kin,
            so_far,
        };
        let ended = watch(sitting.run(), &mut attending, turn).await;
        // Nobody waits for their results any more; what they started must not run on.
        kin.brood().stop();
        let settled = async { tokio::time::timeout(GRACE, kin.brood().settled()).await };
        let _late = watch(settled, &mut attending, turn).await;
        ended
    }

    /// What must be read and locked before a turn.
    fn prepare(
        &self,
        name: &str,
        subject: &Subject,
        memory: Memory,
        above: Option<&Allowance>,
    ) -> Result<(Session, String, Allowance), TurnError> {
        let session = match memory {
            Memory::Session => self.sessions.hold(&subject.agent, &subject.session)?,
            Memory::SessionUnread => self.sessions.hold_to_add(&subject.agent, &subject.session)?,
            Memory::Nowhere => Session::fleeting(self.redactor.clone()),
            Memory::Given(said) => Session::recalling(said, self.redactor.clone()),
        };
        let instructions = self.texts.instructions(name, subject, jiff::Timestamp::now());
        Ok((session, instructions, self.purse.allowance(&subject.agent, &self.config, above)?))
    }

    /// A request that says nothing yet.
    fn request(&self, subject: &Subject) -> Request {
        Request {
            messages: Vec::new(),
            tools: offer::to(&self.hall, subject),
            max_tokens: self.config.turns.max_tokens,
            temperature: self.config.turns.temperature,
            agent: subject.agent.clone(),
        }
    }

    fn name_of(&self, agent: &AgentId) -> Option<String> {
        self.config.agents.iter().find(|known| known.id == *agent).map(|known| known.name.clone())
    }
}

/// Waits for a turn, and passes on what its subagents have to tell meanwhile.
async fn watch<T>(work: impl Future<Output = T>, attending: &mut Attending, turn: &Turn<'_>) -> T {
    let mut work = pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            Some(event) = attending.news.recv() => (turn.events)(event),
            done = &mut work => break done,
        }
    };
    while let Ok(event) = attending.news.try_recv() {
        (turn.events)(event);
    }
    done
}
