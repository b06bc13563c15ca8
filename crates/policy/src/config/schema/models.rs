//! `model_list`, and `providers` of the oldest files. Keys and headers are secret.

use super::key::{Key, Shape};

/// One entry of `model_list`.
pub(super) const MODEL: &[Key] = &[
    Key::new("model_name", Shape::Text, "The alias that agents ask for."),
    Key::new("model", Shape::Text, "The model's id, `protocol/id` unless `provider` says."),
    Key::new("provider", Shape::Text, "The protocol."),
    Key::new("api_base", Shape::Address, "Address of the interface."),
    Key::new("api_keys", Shape::List(&Shape::Secret), "Keys, tried in turn."),
    Key::new("api_key", Shape::Secret, "One key, as older files have it."),
    Key::new("proxy", Shape::Address, "HTTP proxy for this model's requests."),
    Key::new("fallbacks", Shape::List(&Shape::Text), "Models to try when this one fails."),
    Key::new("auth_method", Shape::Text, "How to authenticate."),
    Key::new("workspace", Shape::Path, "Working directory of a command-line provider."),
    Key::count("rpm", 0, 1 << 30, "Requests a minute; 0 is no limit."),
    Key::new("max_tokens_field", Shape::Text, "Name of the request's field for the longest answer."),
    Key::count("request_timeout", 0, 86_400, "Seconds a request may take; 0 is 120."),
    Key::new("thinking_level", Shape::Text, "How much the model thinks: `off` to `xhigh`, `adaptive`."),
    Key::section("streaming", STREAMING, "Streaming of answers."),
    Key::new("extra_body", Shape::Any, "Fields added to every request."),
    Key::new("custom_headers", Shape::Environment, "Headers added to every request."),
    Key::new("user_agent", Shape::Text, "What requests call themselves."),
    Key::section("price", PRICE, "What tokens cost, for the sum at the end of a turn."),
    Key::flag("enabled", true, "Whether the entry is listed."),
    Key::foreign("connect_mode", "other ways to reach a provider"),
    Key::foreign("tool_schema_transform", "transforms of tool schemas"),
    Key::foreign("web_search", "a provider's own web search"),
];

const PRICE: &[Key] = &[
    Key::new("input", Shape::Number(0.0, 1e6), "A million tokens of requests."),
    Key::new("output", Shape::Number(0.0, 1e6), "A million tokens of answers."),
];

const STREAMING: &[Key] = &[Key::flag("enabled", false, "Whether answers arrive piece by piece.")];

/// One entry of `providers`.
pub(super) const PROVIDER: &[Key] = &[
    Key::new("api_key", Shape::Secret, "Its key."),
    Key::new("api_keys", Shape::List(&Shape::Secret), "Its keys."),
    Key::new("api_base", Shape::Address, "Address of its interface."),
    Key::new("proxy", Shape::Address, "HTTP proxy for its requests."),
    Key::count("request_timeout", 0, 86_400, "Seconds a request may take; 0 is 120."),
    Key::new("auth_method", Shape::Text, "How to authenticate."),
    Key::foreign("connect_mode", "other ways to reach a provider"),
    Key::foreign("web_search", "a provider's own web search"),
];
