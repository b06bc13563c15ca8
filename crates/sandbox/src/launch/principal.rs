//! On whose behalf a child runs.

use data_encoding::HEXLOWER;
use picoclaw_policy::AgentId;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// On whose behalf a child runs. Each principal has a home directory of its own, so what an agent
/// leaves in its home is not run by another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An agent's own commands.
    Agent(AgentId),
    /// An agent's own commands, in the project at this path.
    AgentIn(AgentId, PathBuf),
    /// An MCP server.
    Mcp(String),
    /// A process hook.
    Hook(String),
    /// A command-line model provider.
    Provider(String),
    /// A person's command in `picoclaw run`, in the project at this path.
    Project(PathBuf),
}

impl Principal {
    /// Its directory beneath `runtime-user-env/`.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Agent(id) => PathBuf::from("agents").join(id.as_str()),
            Self::AgentIn(id, project) => {
                PathBuf::from("agents").join(escaped(&format!("{id}@{}", project_name(project))))
            }
            Self::Mcp(name) => PathBuf::from("mcp").join(escaped(name)),
            Self::Hook(name) => PathBuf::from("hooks").join(escaped(name)),
            Self::Provider(name) => PathBuf::from("providers").join(escaped(name)),
            Self::Project(path) => PathBuf::from("run").join(project_name(path)),
        }
    }

    /// The MCP server `name`, wrapped for the project at `project`.
    pub fn wrapped_mcp(name: &str, project: &Path) -> Self {
        Self::Mcp(format!("{name}@{}", project_name(project)))
    }
}

/// A name for the project at a canonical path: its last component for people, and a hash that tells
/// it from its namesakes.
fn project_name(path: &Path) -> String {
    const MAX_CHARS: usize = 40;
    let hash = HEXLOWER.encode(&Sha256::digest(path.as_os_str().as_encoded_bytes()));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = escaped(&name).chars().take(MAX_CHARS).collect();
    format!("{name}-{}", hash.get(..16).unwrap_or_default())
}

/// `name` as one path component: other bytes than letters, digits, `-` and `_` as `%xx`, so that
/// two names never meet.
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
            (
                "an agent in a project",
                Principal::AgentIn(AgentId::main(), "/work/app".into()),
                "agents/main%40app-70467eff2e0a2364",
            ),
            ("a server", Principal::Mcp("files".into()), "mcp/files"),
            (
                "a climbing name stays one component",
                Principal::Mcp("../agents".into()),
                "mcp/%2e%2e%2fagents",
            ),
            ("dots alone are no name", Principal::Hook("..".into()), "hooks/%2e%2e"),
            ("an empty name is one too", Principal::Hook(String::new()), "hooks/%"),
            ("an escape cannot be forged", Principal::Provider("%2e".into()), "providers/%252e"),
            ("a project", Principal::Project("/work/my app".into()), "run/my%20app-3612d0c85bfaeaa8"),
            (
                "a server that is wrapped for a project",
                Principal::wrapped_mcp("files", Path::new("/work/app")),
                "mcp/files%40app-70467eff2e0a2364",
            ),
        ] {
            assert_eq!(principal.directory(), PathBuf::from(want), "{why}");
        }
    }

    #[test]
    fn projects_of_one_name_have_two_places() {
        let directory = |path: &str| Principal::Project(path.into()).directory();
        assert_ne!(directory("/a/app"), directory("/b/app"));
        assert_ne!(
            directory(&format!("/{}a", "x".repeat(200))),
            directory(&format!("/{}b", "x".repeat(200)))
        );
        assert!(directory(&format!("/{}", "é".repeat(80))).as_os_str().len() < 100);
    }
}
