//! Deferred tools: hidden from the model until it finds them by search, for a number of rounds.

use super::{Arguments, Need, Outcome, Parameter, Tool, ToolContext, Type};
use crate::call::Reply;
use picoclaw_policy::Subject;
use picoclaw_policy::config::DiscoveryConfig;
use regex::RegexBuilder;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Agent and session.
type SessionKey = (String, String);

/// The tools found by each session, with the number of rounds for which they stay visible.
type FoundTools = BTreeMap<SessionKey, BTreeMap<String, u64>>;

/// What each session has found.
#[derive(Debug)]
pub struct Discovery {
    ttl: u64,
    max_results: usize,
    modes: Vec<SearchMode>,
    found: Mutex<FoundTools>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchMode {
    Bm25,
    Regex,
}

impl Discovery {
    /// With the configured limits.
    pub fn new(config: &DiscoveryConfig) -> Self {
        let modes = [(SearchMode::Bm25, config.use_bm25), (SearchMode::Regex, config.use_regex)];
        Self {
            ttl: config.ttl.max(1),
            max_results: usize::try_from(config.max_search_results).unwrap_or(usize::MAX).max(1),
            modes: modes.into_iter().filter_map(|(mode, is_on)| is_on.then_some(mode)).collect(),
            found: Mutex::default(),
        }
    }

    fn found(&self) -> MutexGuard<'_, FoundTools> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reveal(&self, subject: &Subject, names: impl IntoIterator<Item = String>) {
        let mut found = self.found();
        let own = found.entry(session_key(subject)).or_default();
        own.extend(names.into_iter().map(|name| (name, self.ttl)));
    }

    /// Whether `subject` has found this tool.
    pub(super) fn is_found(&self, tool: &str, subject: &Subject) -> bool {
        self.found().get(&session_key(subject)).is_some_and(|own| own.contains_key(tool))
    }

    /// Ends one round of tool calls: what was found gets older.
    pub(super) fn round_over(&self, subject: &Subject) {
        let mut found = self.found();
        if let Some(own) = found.get_mut(&session_key(subject)) {
            own.retain(|_, left| {
                *left -= 1;
                *left > 0
            });
            if own.is_empty() {
                found.remove(&session_key(subject));
            }
        }
    }
}

fn session_key(subject: &Subject) -> SessionKey {
    (subject.agent.to_string(), subject.session.clone())
}

/// The tool that finds deferred tools.
pub(crate) struct SearchTool {
    mode: SearchMode,
    hidden: Vec<(String, String)>,
    discovery: Arc<Discovery>,
}

impl SearchTool {
    /// One for each enabled mode; none when no tool is hidden.
    pub(crate) fn all(hidden: &[Arc<dyn Tool>], discovery: &Arc<Discovery>) -> Vec<Self> {
        if hidden.is_empty() {
            return Vec::new();
        }
        let hidden: Vec<_> =
            hidden.iter().map(|tool| (tool.name().to_owned(), tool.about().to_owned())).collect();
        let search = |mode: &SearchMode| Self {
            mode: *mode,
            hidden: hidden.clone(),
            discovery: Arc::clone(discovery),
        };
        discovery.modes.iter().map(search).collect()
    }

    fn search(&self, query: &str) -> Result<Vec<&(String, String)>, String> {
        match self.mode {
            SearchMode::Bm25 => Ok(rank_by_bm25(&self.hidden, query)),
            SearchMode::Regex => {
                let pattern = RegexBuilder::new(query).case_insensitive(true).size_limit(1 << 20).build();
                let pattern = pattern.map_err(|why| format!("invalid pattern: {why}"))?;
                let is_match =
                    |tool: &&(String, String)| pattern.is_match(&tool.0) || pattern.is_match(&tool.1);
                Ok(self.hidden.iter().filter(is_match).collect())
            }
        }
    }
}

/// The tools that share words with the query, ranked by Okapi BM25 with its usual constants.
fn rank_by_bm25<'t>(tools: &'t [(String, String)], query: &str) -> Vec<&'t (String, String)> {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        parts.map(str::to_lowercase).collect()
    };
    let texts: Vec<Vec<String>> =
        tools.iter().map(|(name, about)| words(&format!("{name} {about}"))).collect();
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
    let (k, b) = (1.2, 0.75);
    let score = |text: &Vec<String>| -> f64 {
        words(query)
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

const BM25_PARAMETERS: &[Parameter] = &[Parameter {
    name: "query",
    kind: Type::Text,
    need: Need::Required,
    about: "What the tool should do, in a few words.",
}];

const REGEX_PARAMETERS: &[Parameter] = &[Parameter {
    name: "pattern",
    kind: Type::Text,
    need: Need::Required,
    about: "A regular expression over the tools' names and descriptions.",
}];

impl Tool for SearchTool {
    fn name(&self) -> &str {
        match self.mode {
            SearchMode::Bm25 => "tool_search_tool_bm25",
            SearchMode::Regex => "tool_search_tool_regex",
        }
    }

    fn about(&self) -> &str {
        match self.mode {
            SearchMode::Bm25 => "Find more tools by words. What is found can be called in the next rounds.",
            SearchMode::Regex => {
                "Find more tools by a regular expression. What is found can be called in the next rounds."
            }
        }
    }

    fn parameters(&self) -> &'static [Parameter] {
        match self.mode {
            SearchMode::Bm25 => BM25_PARAMETERS,
            SearchMode::Regex => REGEX_PARAMETERS,
        }
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let query = match self.mode {
            SearchMode::Bm25 => arguments.text("query"),
            SearchMode::Regex => arguments.text("pattern"),
        };
        // A search has no effect, but every call leaves its two records.
        context.warden.record_read_only(self.name(), context.subject, query);
        match self.search(query) {
            Err(why) => Reply::Failed(why).into(),
            Ok(matches) => {
                let policy = context.warden.policy();
                let offered =
                    matches.into_iter().filter(|tool| policy.check_tool(&tool.0, context.subject).is_ok());
                let found: Vec<_> = offered.take(self.discovery.max_results).collect();
                self.discovery.reveal(context.subject, found.iter().map(|tool| tool.0.clone()));
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
            |asked: &str| rank_by_bm25(&tools, asked).iter().map(|tool| tool.0.as_str()).collect::<Vec<_>>();
        assert_eq!(found("weather in a city"), ["mcp_b_weather", "mcp_a_read_file", "mcp_a_write_file"]);
        assert_eq!(found("write"), ["mcp_a_write_file"]);
        assert_eq!(found("nothing of the kind"), ["mcp_b_weather"], "a common word finds little");
        assert_eq!(found("???"), Vec::<&str>::new());
    }
}
