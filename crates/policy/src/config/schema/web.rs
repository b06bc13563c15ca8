//! `tools.web`. Search engines are not supported.

use super::key::{Key, Shape};

/// `tools.web`.
pub(super) const WEB: &[Key] = &[
    Key::count("fetch_limit_bytes", 10_485_760, 1 << 32, "Most bytes of one page."),
    Key::new(
        "private_host_whitelist",
        Shape::List(&Shape::Network),
        "Private addresses and networks that may be fetched from; `127.0.0.1:8080` opens one port.",
    ),
    Key::new("proxy", Shape::Address, "HTTP proxy."),
    Key::choice("format", "plaintext", &["plaintext", "markdown"], "What a page is turned into."),
    Key::foreign("enabled", "web search"),
    Key::foreign("provider", "web search"),
    Key::foreign("prefer_native", "web search"),
    Key::foreign("search", "web search"),
    Key::foreign("brave", "web search"),
    Key::foreign("tavily", "web search"),
    Key::foreign("kagi", "web search"),
    Key::foreign("sogou", "web search"),
    Key::foreign("duckduckgo", "web search"),
    Key::foreign("gemini", "web search"),
    Key::foreign("perplexity", "web search"),
    Key::foreign("searxng", "web search"),
    Key::foreign("glm_search", "web search").older(&["glm"]),
    Key::foreign("baidu_search", "web search").older(&["baidu"]),
];
