//! `model_list`, and the keys of `agents.defaults` about models.

use super::legacy;
use super::values::View;
use crate::config::check::Checker;
use crate::config::document::{Node, Value};
use crate::config::fault::Problem;
use crate::config::models::{DEFAULT_REQUEST_SECONDS, ModelConfig, Price, SubturnConfig, TurnConfig};
use crate::config::secret::Secret;

/// Every model.
pub(super) fn models(root: &View<'_>, checker: &mut Checker<'_>) -> Vec<ModelConfig> {
    let items = root.items("model_list");
    if items.is_empty() {
        return legacy::models(root, checker);
    }
    let named = |(index, item): (usize, &View<'_>)| model(item, &format!("model_list[{index}]"), checker);
    items.iter().enumerate().filter_map(named).collect()
}

fn model(item: &View<'_>, key: &str, checker: &mut Checker<'_>) -> Option<ModelConfig> {
    for required in ["model_name", "model"] {
        if item.text(required).is_none() {
            let problem = Problem::Missing { key: if required == "model" { "model" } else { "model_name" } };
            checker.report(&item.origin(required), key, problem, "a model has a name of its own and an id");
        }
    }
    let (name, id) = (item.owned("model_name")?, item.owned("model")?);
    if id.contains(char::is_whitespace) || id.starts_with('/') || id.contains("//") {
        let problem = Problem::Refused(format!("`{id}` is not a valid model id"));
        checker.report(
            &item.origin("model"),
            &format!("{key}.model"),
            problem,
            "write `protocol/id`, or the id alone",
        );
    }
    Some(ModelConfig {
        name,
        model: id,
        provider: item.owned("provider"),
        api_base: item.owned("api_base"),
        api_keys: keys(item),
        proxy: item.secret("proxy"),
        fallbacks: item.texts("fallbacks"),
        auth_method: item.owned("auth_method"),
        workspace: item.path("workspace"),
        rpm: item.count("rpm"),
        max_tokens_field: item.owned("max_tokens_field"),
        request_timeout: item.count_or("request_timeout", DEFAULT_REQUEST_SECONDS),
        thinking_level: item.owned("thinking_level"),
        streaming: streaming(item),
        extra_body: extra_body(item, key, checker),
        custom_headers: item.environment("custom_headers"),
        user_agent: item.owned("user_agent"),
        price: price(&item.section("price")),
    })
}

/// `price`, if either part is given.
fn price(section: &View<'_>) -> Option<Price> {
    let (input, output) = (section.number("input"), section.number("output"));
    (input.is_some() || output.is_some())
        .then(|| Price { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
}

/// `streaming.enabled`, if given.
fn streaming(item: &View<'_>) -> Option<bool> {
    let section = item.section("streaming");
    section.get("enabled").map(|_| section.flag("enabled"))
}

/// `api_key` and `api_keys`, each once.
pub(super) fn keys(item: &View<'_>) -> Vec<Secret> {
    let mut keys: Vec<Secret> = item.secret("api_key").into_iter().collect();
    for key in
        item.texts("api_keys").into_iter().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
    {
        let key = Secret::new(key);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn extra_body(
    item: &View<'_>,
    key: &str,
    checker: &mut Checker<'_>,
) -> serde_json::Map<String, serde_json::Value> {
    let Some(node) = item.get("extra_body") else { return serde_json::Map::new() };
    match to_json(node) {
        Some(serde_json::Value::Object(body)) => body,
        Some(_) => {
            checker.report_wrong_type(
                &node.origin,
                &format!("{key}.extra_body"),
                "an object",
                node.kind(),
                "fields stand between `{` and `}`",
            );
            serde_json::Map::new()
        }
        None => {
            let problem = Problem::Refused("a number in it cannot be kept exactly".to_owned());
            checker.report(&node.origin, &format!("{key}.extra_body"), problem, "write it as a string");
            serde_json::Map::new()
        }
    }
}

/// A tree as JSON; `None` if a number would lose precision.
fn to_json(node: &Node) -> Option<serde_json::Value> {
    use serde_json::Value as Json;
    Some(match &node.value {
        Value::Null => Json::Null,
        Value::Flag(flag) => Json::Bool(*flag),
        Value::Text(text) => Json::String(text.clone()),
        Value::Number(text) if text.contains(['.', 'e', 'E']) => {
            Json::Number(serde_json::Number::from_f64(text.parse().ok()?)?)
        }
        Value::Number(text) => {
            let whole = text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<u64>().map(Json::from));
            whole.ok()?
        }
        Value::List(items) => Json::Array(items.iter().map(to_json).collect::<Option<_>>()?),
        Value::Map(entries) => Json::Object(
            entries
                .iter()
                .map(|entry| Some((entry.name.clone(), to_json(&entry.node)?)))
                .collect::<Option<_>>()?,
        ),
    })
}

/// The keys of `agents.defaults` about models and turns.
pub(super) fn turns(defaults: &View<'_>, models: &[ModelConfig]) -> TurnConfig {
    let subturn = defaults.section("subturn");
    let max_tokens = defaults.count_or("max_tokens", 8_192);
    TurnConfig {
        model: legacy::default_model(defaults, models),
        provider: defaults.owned("provider"),
        model_fallbacks: defaults.texts("model_fallbacks"),
        max_tokens,
        context_window: defaults.count_or("context_window", 4 * max_tokens),
        temperature: defaults.number("temperature"),
        max_tool_iterations: defaults.count_or("max_tool_iterations", 20),
        turn_token_budget: defaults.count("turn_token_budget"),
        max_parallel_turns: defaults.count_or("max_parallel_turns", 1),
        summarize_message_threshold: defaults.count_or("summarize_message_threshold", 20),
        summarize_token_percent: defaults.count_or("summarize_token_percent", 75),
        max_llm_retries: defaults.count("max_llm_retries"),
        llm_retry_backoff_secs: defaults.count("llm_retry_backoff_secs"),
        subturn: SubturnConfig {
            max_depth: subturn.count_or("max_depth", 3),
            max_concurrent: subturn.count_or("max_concurrent", 5),
            default_timeout_minutes: subturn.count_or("default_timeout_minutes", 5),
            default_token_budget: subturn.count("default_token_budget"),
            concurrency_timeout_sec: subturn.count_or("concurrency_timeout_sec", 30),
            max_per_turn: subturn.count_or("max_per_turn", 16),
            max_per_session: subturn.count_or("max_per_session", 64),
        },
    }
}
