//! What the turns of a session took: tokens, time and, where prices are configured, cost.

use super::trace::format_duration;
use crate::style::{Mark, Style};
use picoclaw_agent::providers::Usage;
use picoclaw_policy::config::{Config, Price};
use std::time::Duration;

/// The sum of some turns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    turns: u64,
    usage: Usage,
    time: Duration,
    /// In the currency of the prices.
    cost: Option<f64>,
}

impl Spent {
    /// One turn of `model`.
    pub(super) fn turn(usage: Usage, time: Duration, model: &str, config: &Config) -> Self {
        let price = config.models.iter().find(|known| known.name == model).and_then(|known| known.price);
        Self { turns: 1, usage, time, cost: price.map(|price| cost(usage, price)) }
    }

    /// Adds a turn.
    pub(super) fn add(&mut self, turn: Self) {
        self.turns += turn.turns;
        self.usage += turn.usage;
        self.time += turn.time;
        self.cost = match (self.cost, turn.cost) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or_default() + other.unwrap_or_default()),
        };
    }

    /// The line after an answer; empty if the provider reports no tokens.
    pub(super) fn line(&self, style: &Style) -> String {
        if self.usage == Usage::default() {
            return String::new();
        }
        let dot = style.mark(Mark::Dot);
        let mut line = format!(
            "{} tokens in, {} out {dot} {}",
            count(self.usage.input),
            count(self.usage.output),
            format_duration(self.time)
        );
        if let Some(cost) = self.cost {
            line.push_str(&format!(" {dot} cost {cost:.4}"));
        }
        line
    }

    /// The sum, for `/cost`.
    pub(super) fn text(&self, style: &Style) -> String {
        let line = self.line(style);
        match (self.turns, line.is_empty()) {
            (0, _) => "no turn yet".to_owned(),
            (turns, true) => format!("{}; no tokens were reported", turns_text(turns)),
            (turns, false) => format!("{}: {line}", turns_text(turns)),
        }
    }
}

fn turns_text(turns: u64) -> String {
    if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") }
}

/// The cost of tokens; prices are for a million.
fn cost(usage: Usage, price: Price) -> f64 {
    // Token counts are far below what a float holds exactly.
    (usage.input as f64 * price.input + usage.output as f64 * price.output) / 1e6
}

/// `950`, `1.2k`, `3.4M`.
fn count(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}.{}k", tokens / 1000, tokens / 100 % 10),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Liveness;
    use picoclaw_policy::config::ModelConfig;

    #[test]
    fn turns_add_up() {
        let style = Style::of_environment(|_| Some("C.UTF-8".to_owned()), Liveness::Still);
        let mut config = Config::default();
        let price = Some(Price { input: 2.0, output: 10.0 });
        config.models = vec![ModelConfig { price, ..ModelConfig::plain("paid", "paid") }];
        let usage = Usage { input: 1200, output: 34 };
        let mut sum = Spent::default();
        assert_eq!(sum.text(&style), "no turn yet");
        sum.add(Spent::turn(usage, Duration::from_millis(1500), "paid", &config));
        assert_eq!(sum.line(&style), "1.2k tokens in, 34 out · 1.5 s · cost 0.0027");
        sum.add(Spent::turn(usage, Duration::from_millis(500), "free", &config));
        assert_eq!(sum.text(&style), "2 turns: 2.4k tokens in, 68 out · 2.0 s · cost 0.0027");
        let silent = Spent::turn(Usage::default(), Duration::ZERO, "free", &config);
        assert_eq!(silent.line(&style), "", "nothing was reported");
    }
}
