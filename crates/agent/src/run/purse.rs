//! What tokens may cost: each turn, and each agent in a day.
//!
//! Invariant: a spent budget stops the next request; what a day has used survives the end of the program.

use super::turn::TurnError;
use picoclaw_policy::AgentId;
use picoclaw_policy::config::Config;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::shelf::{Shelf, ShelfError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The largest account that is read.
const MOST: u64 = 4 << 10;

/// The accounts of every agent.
#[derive(Debug, Clone)]
pub(super) struct Purse(Shelf);

/// What one turn may still use.
pub(super) struct Allowance {
    agent: AgentId,
    turn: Budget,
    day: Budget,
    account: Option<Purse>,
}

#[derive(Debug, Clone, Copy)]
struct Budget {
    /// Zero is no limit.
    limit: u64,
    used: u64,
}

/// `<home>/state/usage/<agent>.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Account {
    day: String,
    tokens: u64,
}

impl Budget {
    fn is_spent(self) -> bool {
        self.limit > 0 && self.used >= self.limit
    }
}

impl Purse {
    /// The accounts of the instance at `home`.
    pub(super) fn open(home: &Path) -> Result<Self, ShelfError> {
        Shelf::open(home, "usage").map(Self)
    }

    /// What a turn of this agent's may use.
    pub(super) fn allowance(&self, agent: &AgentId, config: &Config) -> Result<Allowance, TurnError> {
        let own = config.agents.iter().find(|known| known.id == *agent);
        let limit = own.map_or(0, |own| own.token_budget);
        let used = if limit > 0 { self.used_today(agent)? } else { 0 };
        let allowance = Allowance {
            agent: agent.clone(),
            turn: Budget { limit: config.turns.turn_token_budget, used: 0 },
            day: Budget { limit, used },
            account: (limit > 0).then(|| self.clone()),
        };
        match allowance.spent() {
            Some(why) => Err(TurnError::Spent(why)),
            None => Ok(allowance),
        }
    }

    fn used_today(&self, agent: &AgentId) -> Result<u64, ShelfError> {
        let bytes = self.0.read(&format!("{agent}.json"), MOST)?.unwrap_or_default();
        let account: Account = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(if account.day == today() { account.tokens } else { 0 })
    }

    /// Books tokens of today's. Turns of other processes book here as well, so it is read again under a lock.
    fn book(&self, agent: &AgentId, tokens: u64) -> Result<u64, ShelfError> {
        let _held = self.0.hold(&format!("{agent}.lock"), std::time::Duration::from_secs(5))?;
        let account = Account { day: today(), tokens: self.used_today(agent)? + tokens };
        let text = serde_json::to_vec(&account).unwrap_or_default();
        self.0.replace(&format!("{agent}.json"), &text)?;
        Ok(account.tokens)
    }
}

impl Allowance {
    /// Books what a request used.
    pub(super) fn book(&mut self, tokens: u64) -> Result<(), ShelfError> {
        self.turn.used += tokens;
        if let Some(account) = &self.account {
            self.day.used = account.book(&self.agent, tokens)?;
        }
        Ok(())
    }

    /// Why nothing more may be used, with the key to change; `None` while something may.
    pub(super) fn spent(&self) -> Option<String> {
        if self.day.is_spent() {
            return Some(format!(
                "Stopped: agent `{agent}` has used {used} tokens today, and its `token_budget` is {limit}. It may go on tomorrow (UTC), or raise that key of `{agent}` in config.json.",
                agent = self.agent,
                used = self.day.used,
                limit = self.day.limit
            ));
        }
        self.turn.is_spent().then(|| {
            format!(
                "Stopped: this turn has used {} tokens, and `agents.defaults.turn_token_budget` is {}. Raise it in config.json to let a turn go on longer.",
                self.turn.used, self.turn.limit
            )
        })
    }
}

fn today() -> String {
    Timestamp::now().to_string().chars().take(10).collect()
}
