//! Token budgets: of each turn, of each subagent, and of each agent per day.

use super::turn::TurnError;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The largest usage file that is read.
const MAX_FILE_BYTES: u64 = 4 << 10;

/// How long a turn waits for another process that books tokens.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The daily usage of every agent: `<home>/state/usage/<agent>.json`.
#[derive(Debug, Clone)]
pub(super) struct BudgetStore(StateDir);

/// What one turn may still use, together with the turns above it. Clones share the counts.
#[derive(Debug, Clone)]
pub(crate) struct TokenBudget {
    /// Of each turn from the user's down to this one.
    turns: Vec<Arc<TurnBudget>>,
    /// Of each agent in them, once.
    days: Vec<DailyBudget>,
}

#[derive(Debug)]
struct TurnBudget {
    owner: BudgetOwner,
    /// Zero is no limit.
    limit: u64,
    used: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetOwner {
    Turn,
    Subagent,
}

#[derive(Debug, Clone)]
struct DailyBudget {
    agent: AgentId,
    limit: u64,
    used: Arc<AtomicU64>,
    store: BudgetStore,
}

/// The content of a usage file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct DailyUsage {
    day: String,
    tokens: u64,
}

impl TurnBudget {
    fn new(owner: BudgetOwner, limit: u64) -> Arc<Self> {
        Arc::new(Self { owner, limit, used: AtomicU64::new(0) })
    }

    fn spent(&self) -> Option<String> {
        let (used, limit) = (self.used.load(Ordering::Relaxed), self.limit);
        if limit == 0 || used < limit {
            return None;
        }
        Some(match self.owner {
            BudgetOwner::Turn => format!(
                "Stopped: this turn has used {used} tokens, and `agents.defaults.turn_token_budget` is {limit}. Raise it in config.json to let a turn go on longer."
            ),
            BudgetOwner::Subagent => format!(
                "Stopped: this subagent has used {used} tokens, and `agents.defaults.subturn.default_token_budget` is {limit}. Raise it in config.json to let a subagent go on longer."
            ),
        })
    }
}

impl DailyBudget {
    fn spent(&self) -> Option<String> {
        let (agent, used, limit) = (&self.agent, self.used.load(Ordering::Relaxed), self.limit);
        (used >= limit).then(|| {
            format!(
                "Stopped: agent `{agent}` has used {used} tokens today, and its `token_budget` is {limit}. It may go on tomorrow (UTC), or raise that key of `{agent}` in config.json."
            )
        })
    }
}

impl BudgetStore {
    /// The usage files of the instance at `home`.
    pub(super) fn open(home: &Path) -> Result<Self, StateError> {
        StateDir::open(home, "usage").map(Self)
    }

    /// The budget of a turn; a subagent's turn also draws on that of its parent.
    pub(super) fn of_turn(
        &self,
        agent: &AgentId,
        config: &Config,
        parent: Option<&TokenBudget>,
    ) -> Result<TokenBudget, TurnError> {
        let own = match parent {
            None => TurnBudget::new(BudgetOwner::Turn, config.turns.turn_token_budget),
            Some(_) => TurnBudget::new(BudgetOwner::Subagent, config.turns.subturn.default_token_budget),
        };
        let mut budget = parent.cloned().unwrap_or(TokenBudget { turns: Vec::new(), days: Vec::new() });
        budget.turns.push(own);
        let limit = config.agents.iter().find(|known| known.id == *agent).map_or(0, |own| own.token_budget);
        if limit > 0 && budget.days.iter().all(|day| day.agent != *agent) {
            let used = Arc::new(AtomicU64::new(self.used_today(agent)?));
            budget.days.push(DailyBudget { agent: agent.clone(), limit, used, store: self.clone() });
        }
        match budget.spent() {
            Some(why) => Err(TurnError::Spent(why)),
            None => Ok(budget),
        }
    }

    fn used_today(&self, agent: &AgentId) -> Result<u64, StateError> {
        let bytes = self.0.read(&format!("{agent}.json"), MAX_FILE_BYTES)?.unwrap_or_default();
        let usage: DailyUsage = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(if usage.day == today() { usage.tokens } else { 0 })
    }

    /// Adds tokens to today's usage, and returns the sum. Other processes do so too, hence the
    /// lock.
    fn add(&self, agent: &AgentId, tokens: u64) -> Result<u64, StateError> {
        let _lock = self.0.lock(&format!("{agent}.lock"), LOCK_TIMEOUT)?;
        let usage = DailyUsage { day: today(), tokens: self.used_today(agent)? + tokens };
        let text = serde_json::to_vec(&usage).unwrap_or_default();
        self.0.replace(&format!("{agent}.json"), &text)?;
        Ok(usage.tokens)
    }
}

impl TokenBudget {
    /// Adds the tokens of a request.
    pub(super) fn add(&self, tokens: u64) -> Result<(), StateError> {
        for turn in &self.turns {
            turn.used.fetch_add(tokens, Ordering::Relaxed);
        }
        for day in &self.days {
            day.used.store(day.store.add(&day.agent, tokens)?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Why no further request may be made, and which key to change.
    pub(super) fn spent(&self) -> Option<String> {
        let turns = || self.turns.iter().rev().find_map(|turn| turn.spent());
        self.days.iter().find_map(DailyBudget::spent).or_else(turns)
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
