//! What tokens may cost: each turn, and each agent in a day.
//!
//! Invariant: a spent budget stops the next request; what a day has used survives the end of the program.

use super::turn::TurnError;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::state_dir::{StateDir, StateError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest account that is read.
const MOST: u64 = 4 << 10;

/// The accounts of every agent.
#[derive(Debug, Clone)]
pub(super) struct Purse(StateDir);

/// What one turn may still use, and everybody above it. Copies are the same allowance.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    /// Of each turn from the person's down to this one.
    turns: Vec<Arc<Budget>>,
    /// Of each agent in them, once.
    days: Vec<Day>,
}

#[derive(Debug)]
struct Budget {
    whose: Whose,
    /// Zero is no limit.
    limit: u64,
    used: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Turn,
    Subagent,
}

#[derive(Debug, Clone)]
struct Day {
    agent: AgentId,
    limit: u64,
    used: Arc<AtomicU64>,
    account: Purse,
}

/// `<home>/state/usage/<agent>.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Account {
    day: String,
    tokens: u64,
}

impl Budget {
    fn new(whose: Whose, limit: u64) -> Arc<Self> {
        Arc::new(Self { whose, limit, used: AtomicU64::new(0) })
    }

    fn spent(&self) -> Option<String> {
        let (used, limit) = (self.used.load(Ordering::Relaxed), self.limit);
        if limit == 0 || used < limit {
            return None;
        }
        Some(match self.whose {
            Whose::Turn => format!(
                "Stopped: this turn has used {used} tokens, and `agents.defaults.turn_token_budget` is {limit}. Raise it in config.json to let a turn go on longer."
            ),
            Whose::Subagent => format!(
                "Stopped: this subagent has used {used} tokens, and `agents.defaults.subturn.default_token_budget` is {limit}. Raise it in config.json to let a subagent go on longer."
            ),
        })
    }
}

impl Day {
    fn spent(&self) -> Option<String> {
        let (agent, used, limit) = (&self.agent, self.used.load(Ordering::Relaxed), self.limit);
        (used >= limit).then(|| {
            format!(
                "Stopped: agent `{agent}` has used {used} tokens today, and its `token_budget` is {limit}. It may go on tomorrow (UTC), or raise that key of `{agent}` in config.json."
            )
        })
    }
}

impl Purse {
    /// The accounts of the instance at `home`.
    pub(super) fn open(home: &Path) -> Result<Self, StateError> {
        StateDir::open(home, "usage").map(Self)
    }

    /// What a turn of this agent's may use; a subagent's turn also uses what those above it have left.
    pub(super) fn allowance(
        &self,
        agent: &AgentId,
        config: &Config,
        above: Option<&Allowance>,
    ) -> Result<Allowance, TurnError> {
        let own = match above {
            None => Budget::new(Whose::Turn, config.turns.turn_token_budget),
            Some(_) => Budget::new(Whose::Subagent, config.turns.subturn.default_token_budget),
        };
        let mut allowance = above.cloned().unwrap_or(Allowance { turns: Vec::new(), days: Vec::new() });
        allowance.turns.push(own);
        let limit = config.agents.iter().find(|known| known.id == *agent).map_or(0, |own| own.token_budget);
        if limit > 0 && allowance.days.iter().all(|day| day.agent != *agent) {
            let used = Arc::new(AtomicU64::new(self.used_today(agent)?));
            allowance.days.push(Day { agent: agent.clone(), limit, used, account: self.clone() });
        }
        match allowance.spent() {
            Some(why) => Err(TurnError::Spent(why)),
            None => Ok(allowance),
        }
    }

    fn used_today(&self, agent: &AgentId) -> Result<u64, StateError> {
        let bytes = self.0.read(&format!("{agent}.json"), MOST)?.unwrap_or_default();
        let account: Account = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(if account.day == today() { account.tokens } else { 0 })
    }

    /// Books tokens of today's. Turns of other processes book here as well, so it is read again under a lock.
    fn book(&self, agent: &AgentId, tokens: u64) -> Result<u64, StateError> {
        let _held = self.0.lock(&format!("{agent}.lock"), std::time::Duration::from_secs(5))?;
        let account = Account { day: today(), tokens: self.used_today(agent)? + tokens };
        let text = serde_json::to_vec(&account).unwrap_or_default();
        self.0.replace(&format!("{agent}.json"), &text)?;
        Ok(account.tokens)
    }
}

impl Allowance {
    /// Books what a request used.
    pub(super) fn book(&self, tokens: u64) -> Result<(), StateError> {
        for turn in &self.turns {
            turn.used.fetch_add(tokens, Ordering::Relaxed);
        }
        for day in &self.days {
            day.used.store(day.account.book(&day.agent, tokens)?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Why nothing more may be used, with the key to change; `None` while something may.
    pub(super) fn spent(&self) -> Option<String> {
        let turns = || self.turns.iter().rev().find_map(|turn| turn.spent());
        self.days.iter().find_map(Day::spent).or_else(turns)
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
