//! Deferred tools: hidden from the model until it searches for them, and again after a while.
//!
//! Invariant: what one session found is not shown to another.

use crate::call::Reply;
use crate::tools::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, ToolVisibility, Type};
use picoclaw_policy::Subject;
use picoclaw_policy::config::DiscoveryConfig;
use regex::RegexBuilder;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whose turn it is: agent and session.
type Whose = (String, String);

/// What each session has found, and for how many more rounds it stays.
#[derive(Debug)]
pub struct Discovery {
    ttl: u64,
    most: usize,
    manners: Vec<Manner>,
    found: Mutex<BTreeMap<Whose, BTreeMap<String, u64>>>,
}

/// How is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Words,
    Pattern,
}

impl Discovery {
    /// As the configuration says.
    pub fn new(config: &DiscoveryConfig) -> Self {
        let manners = [(Manner::Words, config.use_bm25), (Manner::Pattern, config.use_regex)];
        Self {
            ttl: config.ttl.max(1),
            most: usize::try_from(config.max_search_results).unwrap_or(usize::MAX).max(1),
            manners: manners.into_iter().filter_map(|(manner, is_on)| is_on.then_some(manner)).collect(),
            found: Mutex::default(),
        }
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<Whose, BTreeMap<String, u64>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unlock(&self, subject: &Subject, names: impl IntoIterator<Item = String>) {
        let mut found = self.found();
        let own = found.entry(whose(subject)).or_default();
        own.extend(names.into_iter().map(|name| (name, self.ttl)));
    }
}

impl ToolVisibility for Discovery {
    fn is_found(&self, tool: &str, subject: &Subject) -> bool {
        self.found().get(&whose(subject)).is_some_and(|own| own.contains_key(tool))
    }

    fn round_over(&self, subject: &Subject) {
        let mut found = self.found();
        if let Some(own) = found.get_mut(&whose(subject)) {
            own.retain(|_, left| {
                *left -= 1;
                *left > 0
            });
            if own.is_empty() {
                found.remove(&whose(subject));
            }
        }
    }
}

fn whose(subject: &Subject) -> Whose {
    (subject.agent.to_string(), subject.session.clone())
}

/// Finds deferred tools.
pub(super) struct SearchTool {
    manner: Manner,
    hidden: Vec<(String, String)>,
    discovery: Arc<Discovery>,
}

impl SearchTool {
    /// One for each manner that is on; none when nothing is hidden.
    pub(super) fn all(hidden: &[Arc<dyn Tool>], discovery: &Arc<Discovery>) -> Vec<Self> {
        if hidden.is_empty() {
            return Vec::new();
        }
        let hidden: Vec<_> =
            hidden.iter().map(|tool| (tool.name().to_owned(), tool.about().to_owned())).collect();
        let search = |manner: &Manner| Self {
            manner: *manner,
            hidden: hidden.clone(),
            discovery: Arc::clone(discovery),
        };
        discovery.manners.iter().map(search).collect()
    }

    fn matches(&self, asked: &str) -> Result<Vec<&(String, String)>, String> {
        match self.manner {
            Manner::Words => Ok(by_words(&self.hidden, asked)),
            Manner::Pattern => {
                let pattern = RegexBuilder::new(asked).case_insensitive(true).size_limit(1 << 20).build();
                let pattern = pattern.map_err(|why| format!("invalid pattern: {why}"))?;
                let fits = |tool: &&(String, String)| pattern.is_match(&tool.0) || pattern.is_match(&tool.1);
                Ok(self.hidden.iter().filter(fits).collect())
            }
        }
    }
}

/// The tools that share words with what was asked, the rarest words counting most.
fn by_words<'t>(tools: &'t [(String, String)], asked: &str) -> Vec<&'t (String, String)> {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        parts.map(str::to_lowercase).collect()
    };
    let texts: Vec<Vec<String>> =
        tools.iter().map(|(name, about)| words(&format!("{name} {about}"))).collect();
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
    // Okapi BM25 with its usual constants.
    let (k, b) = (1.2, 0.75);
    let score = |text: &Vec<String>| -> f64 {
        words(asked)
            .iter()
            .map(|word| {
                let holding = texts.iter().filter(|text| text.contains(word)).count() as f64;
                let rarity = (1.0 + (texts.len() as f64 - holding + 0.5) / (holding + 0.5)).ln();
                let times = text.iter().filter(|known| *known == word).count() as f64;
                rarity * times * (k + 1.0)
                    / (times + k * (1.0 - b + b * text.len() as f64 / average.max(1.0)))
            })
            .sum()
    };
    let mut scored: Vec<_> =
        tools.iter().zip(texts.iter().map(score)).filter(|(_, score)| *score > 0.0).collect();
    scored.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.0.cmp(&b.0)));
    scored.into_iter().map(|(tool, _)| tool).collect()
}

const BY_WORDS: &[Parameter] = &[Parameter {
    name: "query",
    kind: Type::Text,
    need: Need::Required,
    about: "What the tool should do, in a few words.",
}];

const BY_PATTERN: &[Parameter] = &[Parameter {
    name: "pattern",
    kind: Type::Text,
    need: Need::Required,
    about: "A regular expression over the tools' names and descriptions.",
}];

impl Tool for SearchTool {
    fn name(&self) -> &str {
        match self.manner {
            Manner::Words => "tool_search_tool_bm25",
            Manner::Pattern => "tool_search_tool_regex",
        }
    }

    fn about(&self) -> &str {
        match self.manner {
            Manner::Words => "Find more tools by words. What is found can be called in the next rounds.",
            Manner::Pattern => {
                "Find more tools by a regular expression. What is found can be called in the next rounds."
            }
        }
    }

    fn parameters(&self) -> &'static [Parameter] {
        match self.manner {
            Manner::Words => BY_WORDS,
            Manner::Pattern => BY_PATTERN,
        }
    }

    fn run(&self, arguments: &Arguments<'_>, visit: &ToolContext<'_>) -> Outcome {
        let asked = match self.manner {
            Manner::Words => arguments.text("query"),
            Manner::Pattern => arguments.text("pattern"),
        };
        // Looking is not an effect, but every call leaves its pair of records.
        visit.warden.looked(self.name(), visit.subject, asked);
        match self.matches(asked) {
            Err(why) => Reply::Failed(why).into(),
            Ok(matches) => {
                let policy = visit.warden.policy();
                let offered =
                    matches.into_iter().filter(|tool| policy.offers(&tool.0, visit.subject).is_ok());
                let found: Vec<_> = offered.take(self.discovery.most).collect();
                self.discovery.unlock(visit.subject, found.iter().map(|tool| tool.0.clone()));
                let rows: Vec<_> =
                    found.iter().map(|tool| json!({"name": tool.0, "description": tool.1})).collect();
                Reply::Done(json!({"tools": rows}).to_string()).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_find_the_tool_that_is_about_them() {
        let tools: Vec<_> = [
            ("mcp_a_read_file", "Read a file from disk"),
            ("mcp_a_write_file", "Write a file to disk"),
            ("mcp_b_weather", "Tell the weather of a city"),
        ]
        .map(|(name, about)| (name.to_owned(), about.to_owned()))
        .into();
        let found =
            |asked: &str| by_words(&tools, asked).iter().map(|tool| tool.0.as_str()).collect::<Vec<_>>();
        assert_eq!(found("weather in a city"), ["mcp_b_weather", "mcp_a_read_file", "mcp_a_write_file"]);
        assert_eq!(found("write"), ["mcp_a_write_file"]);
        assert_eq!(found("nothing of the kind"), ["mcp_b_weather"], "a common word finds little");
        assert_eq!(found("???"), Vec::<&str>::new());
    }
}
