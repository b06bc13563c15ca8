//! `model_list`, and the keys of `agents.defaults` about models and turns.

use super::secret::Secret;
use std::path::PathBuf;

/// One entry of `model_list`, or of the oldest files' `providers`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// `model_name`: the alias that agents ask for. Several entries may share one.
    pub name: String,
    /// `model`: the id, with the protocol before its first `/` unless `provider` is set.
    pub model: String,
    /// `provider`.
    pub provider: Option<String>,
    /// `api_base`.
    pub api_base: Option<String>,
    /// `api_keys`, after the older `api_key`.
    pub api_keys: Vec<Secret>,
    /// `proxy`.
    pub proxy: Option<Secret>,
    /// `fallbacks`.
    pub fallbacks: Vec<String>,
    /// `auth_method`.
    pub auth_method: Option<String>,
    /// `workspace`: the working directory of a command-line provider.
    pub workspace: Option<PathBuf>,
    /// `rpm`: requests per minute; zero is no limit.
    pub rpm: u64,
    /// `max_tokens_field`.
    pub max_tokens_field: Option<String>,
    /// `request_timeout`, in seconds; never zero.
    pub request_timeout: u64,
    /// `thinking_level`.
    pub thinking_level: Option<String>,
    /// `streaming.enabled`; what shows the answer decides if not set.
    pub streaming: Option<bool>,
    /// `extra_body`: fields added to every request.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// `custom_headers`.
    pub custom_headers: Vec<(String, Secret)>,
    /// `user_agent`.
    pub user_agent: Option<String>,
    /// `price`.
    pub price: Option<Price>,
}

/// `price`: for a million tokens, in any one currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// `input`: tokens of requests.
    pub input: f64,
    /// `output`: tokens of answers.
    pub output: f64,
}

/// Default of `request_timeout`, in seconds.
pub(crate) const DEFAULT_REQUEST_SECONDS: u64 = 120;

impl ModelConfig {
    /// An entry with a name and an id alone.
    pub fn plain(name: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            model: model.into(),
            provider: None,
            api_base: None,
            api_keys: Vec::new(),
            proxy: None,
            fallbacks: Vec::new(),
            auth_method: None,
            workspace: None,
            rpm: 0,
            max_tokens_field: None,
            request_timeout: DEFAULT_REQUEST_SECONDS,
            thinking_level: None,
            streaming: None,
            extra_body: serde_json::Map::new(),
            custom_headers: Vec::new(),
            user_agent: None,
            price: None,
        }
    }
}

/// The keys of `agents.defaults` about models and turns.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnConfig {
    /// `model_name`, older `model`.
    pub model: Option<String>,
    /// `provider`: the protocol of a model id without one.
    pub provider: Option<String>,
    /// `model_fallbacks`.
    pub model_fallbacks: Vec<String>,
    /// `max_tokens`.
    pub max_tokens: u64,
    /// `context_window`, in tokens.
    pub context_window: u64,
    /// `temperature`; the provider's default if not set.
    pub temperature: Option<f64>,
    /// `max_tool_iterations`.
    pub max_tool_iterations: u64,
    /// `turn_token_budget`; zero is no limit.
    pub turn_token_budget: u64,
    /// `max_parallel_turns`.
    pub max_parallel_turns: u64,
    /// `summarize_message_threshold`.
    pub summarize_message_threshold: u64,
    /// `summarize_token_percent`.
    pub summarize_token_percent: u64,
    /// `max_llm_retries`.
    pub max_llm_retries: u64,
    /// `llm_retry_backoff_secs`.
    pub llm_retry_backoff_secs: u64,
    /// `subturn`.
    pub subturn: SubturnConfig,
}

/// `agents.defaults.subturn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubturnConfig {
    /// Maximum number of spawns between a subagent and a person.
    pub max_depth: u64,
    /// Maximum number that run at once.
    pub max_concurrent: u64,
    /// Timeout of one subagent.
    pub default_timeout_minutes: u64,
    /// Tokens per subagent; zero is no limit.
    pub default_token_budget: u64,
    /// Timeout of waiting for a free slot.
    pub concurrency_timeout_sec: u64,
    /// Maximum number that one turn starts, those of its subagents included.
    pub max_per_turn: u64,
    /// Maximum number that one session starts while the program runs.
    pub max_per_session: u64,
}
