//! A pin and its key. A configured server is identified by its name, a wrapped one by its command
//! line, so that no two servers share a pin.

use super::tool_list::{ListError, ToolList};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Identifies a pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinKey {
    id: String,
    name: String,
    command: Vec<String>,
}

impl PinKey {
    /// The key of a configured server.
    pub fn configured(name: &str) -> Self {
        Self { id: format!("server-{}", digest(&[name])), name: name.to_owned(), command: Vec::new() }
    }

    /// The key of a wrapped server. Without a name it is named after its command line.
    pub fn wrapped(name: Option<&str>, command: &[String]) -> Self {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let digest = digest(&words);
        let name =
            name.map_or_else(|| format!("{}-{}", descriptive_word(&words), &digest[..8]), str::to_owned);
        Self { id: format!("wrap-{digest}"), name, command: command.to_vec() }
    }

    /// The key of another part of the same server, such as its prompts.
    #[must_use]
    pub fn section(&self, name: &str) -> Self {
        Self { id: format!("{}{SECTION}{name}", self.id), ..self.clone() }
    }

    /// The name of the pin's file.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name that people use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A pin of `list` under this key.
    pub fn pin(&self, list: &ToolList) -> Pin {
        Pin {
            name: self.name.clone(),
            command: self.command.clone(),
            hash: list.hash(),
            tools: list.tools().to_vec(),
        }
    }
}

/// Separates the id of a server from that of a part of it.
const SECTION: char = '.';

/// The id of the server that a pin with this id belongs to.
pub fn server_id(id: &str) -> &str {
    id.split(SECTION).next().unwrap_or(id)
}

/// What a pin with this id is about.
pub fn section_noun(id: &str) -> &str {
    match id.split_once(SECTION).map(|(_, section)| section) {
        Some("resource-templates") => "resource templates",
        Some(section) => section,
        None => "tools",
    }
}

/// The most descriptive word of a command line: the last part of the name of a package or script,
/// not of the interpreter that runs it.
fn descriptive_word(words: &[&str]) -> String {
    const RUNNERS: [&str; 14] = [
        "npx", "node", "uvx", "uv", "python", "python3", "run", "bun", "bunx", "deno", "sh", "bash", "env",
        "pnpm",
    ];
    let last_part = |word: &str| {
        let word = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default().trim_start_matches('@');
        word.split('@').next().unwrap_or_default().to_owned()
    };
    let mut parts = words.iter().filter(|word| !word.starts_with('-')).map(|word| last_part(word));
    let is_descriptive = |part: &String| {
        !part.is_empty() && !part.contains(char::is_whitespace) && !RUNNERS.contains(&part.as_str())
    };
    let found = parts.find(is_descriptive);
    let found = found.unwrap_or_else(|| "server".to_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
    found.chars().map(plain).take(40).collect()
}

/// 16 hexadecimal digits of a list of words, each with its length.
fn digest(words: &[&str]) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word.as_bytes());
    }
    let mut hex = HEXLOWER.encode(&digest.finalize());
    hex.truncate(16);
    hex
}

/// A pinned list of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The server's name.
    pub name: String,
    /// The command line of a wrapped server.
    #[serde(default)]
    pub command: Vec<String>,
    /// The hash of the list.
    pub hash: String,
    /// The tools, to show differences.
    pub tools: Vec<Value>,
}

impl Pin {
    /// The validated list.
    pub fn list(&self) -> Result<ToolList, ListError> {
        ToolList::new(self.tools.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_wrapped_server_is_named_after_its_command_line() {
        for (line, want) in [
            ("npx -y @modelcontextprotocol/server-filesystem@2026.7.10 /data", "server-filesystem-"),
            ("uvx mcp-server-git", "mcp-server-git-"),
            ("python3 /opt/my server.py", "my-"),
            ("node dist/index.js", "index.js-"),
            ("python3 -", "server-"),
            ("sh -c read\tline;\ttrue", "server-"),
            ("/usr/bin/env FOO", "FOO-"),
        ] {
            let key = PinKey::wrapped(None, &words(line));
            assert!(key.name().starts_with(want), "`{line}` is called `{}`", key.name());
            assert_eq!(key.name().len(), want.len() + 8, "`{line}`");
        }
    }

    #[test]
    fn pins_are_kept_apart() {
        let wrapped = |name: Option<&str>, command: &[&str]| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            PinKey::wrapped(name, &command).id().to_owned()
        };
        let plain = wrapped(None, &["srv", "/a"]);
        assert_eq!(plain, wrapped(Some("files"), &["srv", "/a"]), "the command line is what counts");
        for (why, other) in [
            ("another argument", wrapped(None, &["srv", "/b"])),
            ("words that run together", wrapped(None, &["srv/a"])),
            ("words that part elsewhere", wrapped(None, &["srv/", "a"])),
            ("a configured server", PinKey::configured("srv").id().to_owned()),
        ] {
            assert_ne!(plain, other, "{why}");
        }
        let id = PinKey::configured("../../x").id().to_owned();
        assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "no name climbs: `{id}`");
    }
}
