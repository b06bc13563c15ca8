//! One server's pin, and the name it is kept under.
//!
//! Invariant: two servers never share a pin: a configured one is known by its name, a wrapped one by its command line.

use super::list::{ListError, ToolList};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Under what a pin is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinKey {
    id: String,
    name: String,
    command: Vec<String>,
}

impl PinKey {
    /// A server of the configuration, by its name there.
    pub fn configured(name: &str) -> Self {
        Self { id: format!("server-{}", digest(&[name])), name: name.to_owned(), command: Vec::new() }
    }

    /// A wrapped server, by its command line. Without a name of its own it gets one from that line.
    pub fn wrapped(name: Option<&str>, command: &[String]) -> Self {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let digest = digest(&words);
        let name = name.map_or_else(|| format!("{}-{}", telling(&words), &digest[..8]), str::to_owned);
        Self { id: format!("wrap-{digest}"), name, command: command.to_vec() }
    }

    /// The name of its files.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a person calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pins `list` under this key.
    pub fn pin(&self, list: &ToolList) -> Pin {
        Pin {
            name: self.name.clone(),
            command: self.command.clone(),
            hash: list.hash(),
            tools: list.tools().to_vec(),
        }
    }
}

/// The word of a command line that tells most about it: the last part of a package or of a script's name, not the
/// interpreter that runs it.
fn telling(words: &[&str]) -> String {
    const RUNNERS: [&str; 14] = [
        "npx", "node", "uvx", "uv", "python", "python3", "run", "bun", "bunx", "deno", "sh", "bash", "env",
        "pnpm",
    ];
    let last = |word: &str| {
        let word = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default().trim_start_matches('@');
        word.split('@').next().unwrap_or_default().to_owned()
    };
    let mut parts = words.iter().filter(|word| !word.starts_with('-')).map(|word| last(word));
    let tells = |part: &String| {
        !part.is_empty() && !part.contains(char::is_whitespace) && !RUNNERS.contains(&part.as_str())
    };
    let found = parts.find(tells);
    let found = found.unwrap_or_else(|| "server".to_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
    found.chars().map(plain).take(40).collect()
}

/// Sixteen hexadecimal digits of a list of words; where one word ends counts.
fn digest(words: &[&str]) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word.as_bytes());
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A list of tools that was seen, and of which server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// What a person calls the server.
    pub name: String,
    /// Its command line, when that is what it is known by.
    #[serde(default)]
    pub command: Vec<String>,
    /// The hash of its tools.
    pub hash: String,
    /// The tools, to show what changed.
    pub tools: Vec<Value>,
}

impl Pin {
    /// The tools as a list.
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
