//! One turn: what it is given, how it ends, and why it might not.
//!
//! Invariant: a turn ends in an answer or in one error that names its cause.

use super::event::Event;
use super::steering::Steering;
use crate::providers::{ModelError, ProviderError, Usage};
use crate::sessions::SessionError;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::state_dir::StateError;

/// What a turn is given.
pub struct Turn<'t> {
    /// On whose behalf: agent and session.
    pub subject: Subject,
    /// What the person said.
    pub input: String,
    /// The model that was asked for by name; the agent's own otherwise.
    pub model: Option<String>,
    /// Hears what happens.
    pub events: &'t (dyn Fn(Event) + Send + Sync),
    /// Words that come while it runs.
    pub steering: &'t Steering,
    /// Raised: the turn stops at once, and its session is as before.
    pub halt: &'t CancelToken,
}

impl<'t> Turn<'t> {
    /// The same turn, for somebody to listen in on.
    pub(super) fn again(&self) -> Turn<'t> {
        Turn { subject: self.subject.clone(), input: self.input.clone(), model: self.model.clone(), ..*self }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The answer, secrets filtered.
    pub answer: String,
    /// The model that gave it.
    pub model: String,
    /// What the turn cost, as far as providers say.
    pub usage: Usage,
    /// How often the model was asked.
    pub rounds: u64,
    /// Whether something had to be asked and nobody could be.
    pub unasked: bool,
    /// Whether the last tool call was refused or failed.
    pub failed: bool,
}

/// Why a turn has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The configuration knows no such agent.
    #[error("there is no agent `{0}`")]
    NoAgent(AgentId),
    /// There is no such model, or it cannot be used.
    #[error("{0}\nhint: {hint}", hint = .0.hint())]
    NoModel(#[from] ModelError),
    /// The model failed for good.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The session cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A file of the program's own cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The model takes no conversation this long, and only the active turn is left.
    #[error("the conversation is too long for the model: refusing to drop active turn messages")]
    TooLong,
    /// The budget was spent before the turn began.
    #[error("{0}")]
    Spent(String),
    /// A hook that was asked for is not there.
    #[error("{0}")]
    Hook(String),
    /// A hook ended the turn.
    #[error("the turn was ended by a hook: {0}")]
    Aborted(String),
    /// A hook ended the turn, and nothing of it stays.
    #[error("the turn was undone by a hook: {0}")]
    Undone(String),
    /// A thread of this program ended badly.
    #[error("the program could not go on with this turn: {0}")]
    Broken(String),
    /// It was stopped.
    #[error("the turn was stopped")]
    Halted,
}
