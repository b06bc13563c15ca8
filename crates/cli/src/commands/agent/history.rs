//! The input history of earlier sessions: `<home>/state/history`, readable by its owner only.
//!
//! It contains no known secret and no line that looks like one. A history that cannot be written
//! does not stop a session.

use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::state_dir::StateDir;
use std::path::Path;

/// The file: one JSON string per line, so that an entry of several lines stays one.
const FILE: &str = "history";

/// Number of entries that a session loads.
const MAX_ENTRIES: usize = 1_000;

/// A larger file is started anew.
const MAX_FILE_SIZE: u64 = 8 << 20;

/// Prefixes of API keys.
const KEY_LIKE: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "dop_v1_",
    "-----BEGIN",
];

/// The history of an instance.
pub(super) struct History {
    dir: Option<StateDir>,
    redactor: Redactor,
    last: String,
}

impl History {
    /// The history of the instance at `home`, and its entries, oldest first.
    pub(super) fn open(home: &Path, redactor: Redactor) -> (Self, Vec<String>) {
        let dir = StateDir::of_instance(home).ok();
        let mut entries = dir.as_ref().map(read_entries).unwrap_or_default();
        if entries.len() > 2 * MAX_ENTRIES {
            entries.drain(..entries.len() - MAX_ENTRIES);
            let text: String = entries.iter().map(|entry| encode_entry(entry)).collect();
            let _unkept = dir.as_ref().map(|dir| dir.replace(FILE, text.as_bytes()));
        }
        let last = entries.last().cloned().unwrap_or_default();
        (Self { dir, redactor, last }, entries)
    }

    /// Records a line, unless it looks secret; returns what the line editor may keep.
    pub(super) fn add(&mut self, entry: &str) -> Option<String> {
        let entry = entry.trim_end();
        if entry.is_empty() || entry.starts_with(' ') || *entry == self.last || looks_secret(entry) {
            return None;
        }
        let clean = self.redactor.clean(entry).into_owned();
        self.last.clone_from(&clean);
        if let Some(dir) = &self.dir
            && let Err(why) = dir.append(FILE, encode_entry(&clean).trim_end().as_bytes())
        {
            tracing::debug!(target: "agent", error = %why, "The history could not be kept");
        }
        Some(clean)
    }
}

fn read_entries(dir: &StateDir) -> Vec<String> {
    match dir.read(FILE, MAX_FILE_SIZE) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
        }
        Err(why) => {
            tracing::debug!(target: "agent", error = %why, "The history could not be read");
            Vec::new()
        }
    }
}

fn encode_entry(entry: &str) -> String {
    format!("{}\n", serde_json::Value::from(entry))
}

/// Whether a word has a key's prefix and length.
fn looks_secret(entry: &str) -> bool {
    let words = entry.split(|c: char| c.is_whitespace() || "\"'`=:,;(){}[]<>".contains(c));
    words.filter(|word| word.len() >= 16).any(|word| KEY_LIKE.iter().any(|start| word.starts_with(start)))
        || entry.contains("-----BEGIN")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_typed_is_there_next_time_but_no_secret() {
        let home = tempfile::tempdir().unwrap();
        let redactor = || Redactor::new(&["hunter2-and-more".to_owned()]);
        let (mut history, before) = History::open(home.path(), redactor());
        assert!(before.is_empty());
        for (why, entry, kept) in [
            ("a line", "ls -la", Some("ls -la")),
            ("again: once is enough", "ls -la", None),
            ("several lines are one entry", "one\ntwo", Some("one\ntwo")),
            ("a space before it keeps it out, as in shells", " quiet", None),
            ("a configured secret", "use hunter2-and-more", Some("use [FILTERED]")),
            ("somebody's key", "export K=sk-proj-0123456789abcdef", None),
            ("a word that only begins like one", "sk-short", Some("sk-short")),
            ("nothing", "  ", None),
        ] {
            assert_eq!(history.add(entry).as_deref(), kept, "{why}");
        }
        let (_, after) = History::open(home.path(), redactor());
        assert_eq!(after, ["ls -la", "one\ntwo", "use [FILTERED]", "sk-short"]);
        let mode = home.path().join("state/history").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_broken_history_stops_nobody() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("state/history")).unwrap();
        let (mut history, before) = History::open(home.path(), Redactor::default());
        assert!(before.is_empty());
        assert_eq!(history.add("ls").as_deref(), Some("ls"), "the session remembers all the same");
    }
}
