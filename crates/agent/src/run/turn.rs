//! One turn: its input, its outcome, and its errors.

use super::event::Event;
use super::steering::Steering;
use crate::hooks::HookAbort;
use crate::providers::{ModelError, ProviderError, Usage};
use crate::sessions::SessionError;
use picoclaw_policy::{AgentId, Subject};
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::state_dir::StateError;

/// The input of a turn.
pub struct Turn<'t> {
    /// On whose behalf: agent and session.
    pub subject: Subject,
    /// The user's message.
    pub input: String,
    /// The requested model; the agent's own by default.
    pub model: Option<String>,
    /// Receives the events of the turn.
    pub events: &'t (dyn Fn(Event) + Send + Sync),
    /// Messages that arrive while it runs.
    pub steering: &'t Steering,
    /// Raised, the turn stops at once and its session is rolled back.
    pub halt: &'t CancelToken,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnOutcome {
    /// The answer, secrets filtered.
    pub answer: String,
    /// The model that gave it.
    pub model: String,
    /// The tokens of the turn and its subagents, as far as providers report them.
    pub usage: Usage,
    /// How many requests the model got.
    pub rounds: u64,
    /// Whether a call needed approval and no person could be asked.
    pub needs_approval: bool,
    /// Whether the last tool call was refused or failed.
    pub failed: bool,
}

/// Why a turn has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The agent is not configured.
    #[error("there is no agent `{0}`")]
    NoAgent(AgentId),
    /// The model does not exist or is not usable.
    #[error("{0}\nhint: {hint}", hint = .0.hint())]
    NoModel(#[from] ModelError),
    /// The model failed for good.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The session is not usable.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A state file is not usable.
    #[error(transparent)]
    StateDir(#[from] StateError),
    /// The conversation exceeds the model's context window, and only the active turn is left.
    #[error("the conversation is too long for the model: refusing to drop active turn messages")]
    TooLong,
    /// The token budget was used up before the turn began.
    #[error("{0}")]
    Spent(String),
    /// A configured hook could not be started.
    #[error("{0}")]
    Hook(String),
    /// A hook ended the turn.
    #[error(transparent)]
    Aborted(#[from] HookAbort),
    /// A thread of this program panicked.
    #[error("the program could not continue this turn: {0}")]
    Broken(String),
    /// The turn was cancelled.
    #[error("the turn was stopped")]
    Halted,
}

impl TurnError {
    /// Whether the session is rolled back to where it was before the turn.
    pub(super) fn rolls_back(&self) -> bool {
        matches!(self, Self::Halted | Self::Aborted(HookAbort::HardAbort(_)))
    }
}
