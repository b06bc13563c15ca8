//! On whose behalf a child runs.

use picoclaw_policy::AgentId;
use std::path::PathBuf;

/// On whose behalf a child runs. Each principal has a home directory of its own, so what an agent leaves in its home is not
/// run by another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An agent's own commands.
    Agent(AgentId),
    /// An MCP server.
    Mcp(String),
    /// A process hook.
    Hook(String),
    /// A command-line model provider.
    Provider(String),
    /// A person's command in `picoclaw run`.
    Person,
}

impl Principal {
    /// Its directory beneath `runtime-user-env/`.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Agent(id) => PathBuf::from("agents").join(id.as_str()),
            Self::Mcp(name) => PathBuf::from("mcp").join(escaped(name)),
            Self::Hook(name) => PathBuf::from("hooks").join(escaped(name)),
            Self::Provider(name) => PathBuf::from("providers").join(escaped(name)),
            Self::Person => PathBuf::from("run"),
        }
    }
}

/// `name` as one path component: other bytes than letters, digits, `-` and `_` as `%xx`, so that two names never meet.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    if text.is_empty() { "%".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_principal_has_a_place_of_its_own() {
        for (why, principal, want) in [
            ("an agent", Principal::Agent(AgentId::main()), "agents/main"),
            ("a server", Principal::Mcp("files".into()), "mcp/files"),
            (
                "a climbing name stays one component",
                Principal::Mcp("../agents".into()),
                "mcp/%2e%2e%2fagents",
            ),
            ("dots alone are no name", Principal::Hook("..".into()), "hooks/%2e%2e"),
            ("an empty name is one too", Principal::Hook(String::new()), "hooks/%"),
            ("an escape cannot be forged", Principal::Provider("%2e".into()), "providers/%252e"),
            ("a person", Principal::Person, "run"),
        ] {
            assert_eq!(principal.directory(), PathBuf::from(want), "{why}");
        }
    }
}
