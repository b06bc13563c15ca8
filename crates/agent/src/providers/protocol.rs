//! Protocols: the wire format, the default address, and whether a key is required.

use picoclaw_policy::config::ModelConfig;

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// `POST {base}/chat/completions`.
    OpenAi,
    /// `POST {base}/v1/messages`.
    Anthropic,
    /// Claude Code's command line.
    ClaudeCli,
    /// Codex's command line.
    CodexCli,
    /// No model.
    Direct,
    /// A file of replies.
    Scripted,
}

/// Whether requests must carry a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// The default address requires one.
    Required,
    /// It runs locally.
    Optional,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protocol {
    pub(super) name: &'static str,
    pub(super) wire: Wire,
    pub(super) base: &'static str,
    pub(super) key: Key,
}

const fn hosted(name: &'static str, base: &'static str) -> Protocol {
    Protocol { name, wire: Wire::OpenAi, base, key: Key::Required }
}

const fn local(name: &'static str, base: &'static str) -> Protocol {
    Protocol { name, wire: Wire::OpenAi, base, key: Key::Optional }
}

const fn own(name: &'static str, wire: Wire) -> Protocol {
    Protocol { name, wire, base: "", key: Key::Optional }
}

const fn anthropic(name: &'static str) -> Protocol {
    Protocol { name, wire: Wire::Anthropic, base: "https://api.anthropic.com", key: Key::Required }
}

/// The protocols, by name.
const PROTOCOLS: &[Protocol] = &[
    hosted("openai", "https://api.openai.com/v1"),
    anthropic("anthropic"),
    anthropic("anthropic-messages"),
    hosted("openrouter", "https://openrouter.ai/api/v1"),
    hosted("groq", "https://api.groq.com/openai/v1"),
    hosted("deepseek", "https://api.deepseek.com/v1"),
    hosted("mistral", "https://api.mistral.ai/v1"),
    hosted("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    hosted("zhipu", "https://open.bigmodel.cn/api/paas/v4"),
    hosted("moonshot", "https://api.moonshot.cn/v1"),
    hosted("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    hosted("nvidia", "https://integrate.api.nvidia.com/v1"),
    hosted("cerebras", "https://api.cerebras.ai/v1"),
    hosted("volcengine", "https://ark.cn-beijing.volces.com/api/v3"),
    hosted("minimax", "https://api.minimaxi.com/v1"),
    hosted("modelscope", "https://api-inference.modelscope.cn/v1"),
    hosted("together", "https://api.together.xyz/v1"),
    hosted("fireworks", "https://api.fireworks.ai/inference/v1"),
    hosted("xai", "https://api.x.ai/v1"),
    local("ollama", "http://localhost:11434/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("lmstudio", "http://localhost:1234/v1"),
    local("litellm", "http://localhost:4000/v1"),
    local("llamacpp", "http://localhost:8080/v1"),
    own("claude-cli", Wire::ClaudeCli),
    own("claudecli", Wire::ClaudeCli),
    own("claude-code", Wire::ClaudeCli),
    own("codex-cli", Wire::CodexCli),
    own("codexcli", Wire::CodexCli),
    own("direct", Wire::Direct),
    own("scripted", Wire::Scripted),
];

/// An entry of `model_list`, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedModel {
    /// The wire format.
    pub(super) wire: Wire,
    /// The id of the model.
    pub(super) id: String,
    /// The base address without a slash at the end; empty where nothing is connected to.
    pub(super) base: String,
    /// Whether a key is required.
    pub(super) key: Key,
}

/// An unknown protocol, without an address to use it at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtocolError(pub(super) String);

/// Resolves an entry. `provider` wins, then the part before the first `/`, then `default`, then
/// OpenAI's.
pub(super) fn resolve(entry: &ModelConfig, default: Option<&str>) -> Result<ResolvedModel, ProtocolError> {
    let base = entry.api_base.as_deref().map(str::trim).filter(|base| !base.is_empty());
    let said = entry.provider.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let (protocol, id) = match (said, entry.model.split_once('/')) {
        (Some(name), _) => (name, entry.model.as_str()),
        (None, Some((name, id))) if find(name).is_some() => (name, id),
        // `meta-llama/…` at a configured address is an id, not a protocol.
        (None, Some(_)) if base.is_some() => (default.unwrap_or("openai"), entry.model.as_str()),
        (None, Some((name, _))) => return Err(ProtocolError(name.to_owned())),
        (None, None) if find(&entry.model).is_some_and(|known| known.base.is_empty()) => {
            (entry.model.as_str(), entry.model.as_str())
        }
        (None, None) => (default.unwrap_or("openai"), entry.model.as_str()),
    };
    let known = match (find(protocol), base) {
        (Some(known), _) => known,
        (None, Some(_)) => local("", ""),
        (None, None) => return Err(ProtocolError(protocol.to_owned())),
    };
    let key = if base.is_some() { Key::Optional } else { known.key };
    let base = base.unwrap_or(known.base).trim_end_matches('/').to_owned();
    Ok(ResolvedModel { wire: known.wire, id: id.to_owned(), base, key })
}

fn find(name: &str) -> Option<Protocol> {
    PROTOCOLS.iter().copied().find(|known| known.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_means_one_protocol_and_one_id() {
        let rows = [
            ("a bare id", None, "gpt-4o", None, None, (Wire::OpenAi, "gpt-4o", "https://api.openai.com/v1")),
            (
                "a protocol before it",
                None,
                "groq/llama",
                None,
                None,
                (Wire::OpenAi, "llama", "https://api.groq.com/openai/v1"),
            ),
            (
                "`provider` wins, the id stays",
                Some("openrouter"),
                "openai/gpt-4o",
                None,
                None,
                (Wire::OpenAi, "openai/gpt-4o", "https://openrouter.ai/api/v1"),
            ),
            (
                "case is nothing",
                Some("Ollama"),
                "llama3",
                None,
                None,
                (Wire::OpenAi, "llama3", "http://localhost:11434/v1"),
            ),
            (
                "the default protocol of bare ids",
                None,
                "claude-x",
                None,
                Some("anthropic"),
                (Wire::Anthropic, "claude-x", "https://api.anthropic.com"),
            ),
            (
                "an address of one's own",
                None,
                "meta-llama/l3",
                Some("http://h:1/v1/"),
                None,
                (Wire::OpenAi, "meta-llama/l3", "http://h:1/v1"),
            ),
            (
                "an unknown provider with an address",
                Some("acme"),
                "m",
                Some("http://h"),
                None,
                (Wire::OpenAi, "m", "http://h"),
            ),
            (
                "a command line",
                None,
                "claude-cli/claude-code",
                None,
                None,
                (Wire::ClaudeCli, "claude-code", ""),
            ),
            (
                "a command line by its name alone",
                None,
                "codex-cli",
                None,
                None,
                (Wire::CodexCli, "codex-cli", ""),
            ),
        ];
        for (why, provider, model, base, default, (wire, id, want)) in rows {
            let entry = ModelConfig {
                provider: provider.map(str::to_owned),
                api_base: base.map(str::to_owned),
                ..ModelConfig::plain("m", model)
            };
            let got = resolve(&entry, default).unwrap();
            assert_eq!((got.wire, got.id.as_str(), got.base.as_str()), (wire, id, want), "{why}");
        }
        assert_eq!(
            resolve(&ModelConfig::plain("m", "acme/x"), None),
            Err(ProtocolError("acme".into())),
            "nobody knows it"
        );
    }
}
