//! Turns: from a user's message to an answer, with as many model requests and tool calls as it
//! takes.

mod active_turn;
mod children;
mod conversation;
mod event;
mod extensions;
mod instruction_history;
mod model_call;
mod prompt;
mod repair_history;
mod runner;
mod steering;
mod strip_base64;
mod subagent_slots;
mod summarize;
mod token_budget;
mod token_estimate;
mod tool_calls;
mod tool_specs;
mod turn;
mod turn_loop;
mod turn_slots;

pub(crate) use active_turn::{ActiveTurn, TurnRegistry};
pub use event::{Ask, Event, SubagentEvent, SubagentInfo};
pub use instruction_history::{HistoryError, InstructionFile, InstructionHistory};
pub use prompt::PromptSources;
pub use runner::{Runner, RunnerError};
pub use steering::{QueueFull, Steering};
pub(crate) use subagent_slots::SubagentSlot;
pub use summarize::{Summarized, SummaryReason};
pub use turn::{Turn, TurnError, TurnOutcome};
