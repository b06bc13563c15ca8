//! Resolves references to secrets, and collects every secret value for redaction.

use super::check::{Checker, push_step};
use super::document::{Node, Value};
use super::fault::Problem;
use super::schema::{Key, Shape};
use super::secret::{NOT_HERE, is_plain_setting, names_a_secret, stands_for_a_secret};
use super::secret_shape::{secret_ranges, secret_ranges_of_words};
use std::ops::Range;

/// Shorter values are not redacted: replacing two letters would only garble the output.
const MIN_SECRET_LEN: usize = 4;

/// Placeholders for keys that are not needed. Redacting these words would protect nothing.
const PLACEHOLDERS: &[&str] = &[
    "none", "null", "dummy", "empty", "test", "local", "ollama", "fake", "password", "changeme", "postgres",
];

/// Resolves references to secrets.
pub trait SecretSource {
    /// The value of `file://…` or `enc://…`, or why it is not available. The reason must not
    /// contain the value.
    fn open(&self, reference: &str) -> Result<String, String>;
}

/// Resolves nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoSecretSource;

impl SecretSource for NoSecretSource {
    fn open(&self, _reference: &str) -> Result<String, String> {
        Err("references to secrets cannot be opened here".to_owned())
    }
}

/// One pass over a tree.
pub(crate) struct SecretResolver<'a, 'b> {
    pub(crate) source: &'a dyn SecretSource,
    pub(crate) checker: &'a mut Checker<'b>,
    pub(crate) found: Vec<String>,
}

impl SecretResolver<'_, '_> {
    /// Resolves and collects the secrets of a section.
    pub(crate) fn resolve_section(&mut self, node: &mut Node, keys: &'static [Key], path: &mut String) {
        let Value::Map(entries) = &mut node.value else { return };
        for entry in entries {
            let Some(key) = keys
                .iter()
                .find(|key| key.name == entry.name || key.aliases.names().contains(&entry.name.as_str()))
            else {
                continue;
            };
            let length = path.len();
            push_step(path, key.name);
            self.resolve_value(&mut entry.node, &key.shape, &entry.name, path);
            path.truncate(length);
        }
    }

    fn resolve_value(&mut self, node: &mut Node, shape: &'static Shape, name: &str, path: &mut String) {
        match shape {
            Shape::Section(keys) | Shape::TextOr(keys) | Shape::ChoiceOr(_, keys) => {
                self.resolve_section(node, keys, path)
            }
            Shape::Secret => self.resolve_secret(node, path),
            Shape::Address | Shape::Text | Shape::Program => self.collect_from_text(node),
            Shape::Environment => {
                for entry in node.entries() {
                    self.collect_from_variable(&entry.name, &entry.node);
                }
            }
            Shape::Any => self.collect_by_name(name, node),
            Shape::List(inner) => {
                let Value::List(items) = &mut node.value else { return };
                if matches!(inner, Shape::Text | Shape::Program) {
                    self.collect_from_words(items);
                }
                for (index, item) in items.iter_mut().enumerate() {
                    let length = path.len();
                    path.push_str(&format!("[{index}]"));
                    self.resolve_value(item, inner, name, path);
                    path.truncate(length);
                }
                items.retain(|item| !item.is_null());
            }
            Shape::Map(inner) => {
                let Value::Map(entries) = &mut node.value else { return };
                for entry in entries {
                    let length = path.len();
                    push_step(path, &entry.name);
                    self.resolve_value(&mut entry.node, inner, &entry.name, path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn resolve_secret(&mut self, node: &mut Node, path: &str) {
        let Some(text) = node.text() else { return };
        if text.trim().is_empty() || text == NOT_HERE {
            node.value = Value::Null;
            return;
        }
        if text.starts_with("file://") || text.starts_with("enc://") {
            match self.source.open(text) {
                Ok(opened) => node.value = Value::Text(opened),
                Err(why) => {
                    let hint = "see the secrets file, or `PICOCLAW_KEY_PASSPHRASE` for `enc://`";
                    return self.checker.report(&node.origin, path, Problem::Refused(why), hint);
                }
            }
        }
        self.collect_secret(node.text().unwrap_or(""));
    }

    /// A value whose key alone shows that it is a secret.
    fn collect_by_name(&mut self, name: &str, node: &Node) {
        match &node.value {
            Value::Text(text) | Value::Number(text) if names_a_secret(name) => self.collect_secret(text),
            Value::List(items) => items.iter().for_each(|item| self.collect_by_name(name, item)),
            Value::Map(entries) => {
                entries.iter().for_each(|entry| self.collect_by_name(&entry.name, &entry.node))
            }
            _ => {}
        }
    }

    /// A variable or header for another program.
    fn collect_from_variable(&mut self, name: &str, node: &Node) {
        let Some(text) = node.text() else { return };
        if names_a_secret(name) || !is_plain_setting(text) {
            self.collect_with_credential(text);
        }
        self.collect_from_text(node);
    }

    /// The parts of a text that look like secrets.
    fn collect_from_text(&mut self, node: &Node) {
        let Some(text) = node.text() else { return };
        self.collect_ranges(text, secret_ranges(text));
    }

    /// The same for the words of a list, where an option may name the next word as one.
    fn collect_from_words(&mut self, items: &[Node]) {
        let words: Vec<&str> = items.iter().map(|item| item.text().unwrap_or("")).collect();
        for (word, ranges) in words.iter().zip(secret_ranges_of_words(&words)) {
            self.collect_ranges(word, ranges);
        }
    }

    fn collect_ranges(&mut self, text: &str, ranges: Vec<Range<usize>>) {
        for part in ranges.into_iter().filter_map(|range| text.get(range)) {
            let part = part.trim().trim_matches(['"', '\'']);
            let words: Vec<&str> = part.split([' ', '"', '\'', ';', ',']).collect();
            if !words.iter().any(|word| stands_for_a_secret(word)) {
                self.collect_with_credential(part);
            }
            // The secret alone, where the text goes on after it.
            let is_secret = |word: &&&str| !is_plain_setting(word) && !stands_for_a_secret(word);
            words.iter().filter(is_secret).for_each(|word| self.collect_secret(word));
        }
    }

    /// A value, and the credential in it if it is that of an `Authorization` header.
    fn collect_with_credential(&mut self, value: &str) {
        self.collect_secret(value);
        if let Some((_, credential)) = value.split_once(' ') {
            self.collect_secret(credential.trim());
        }
    }

    /// Collects a value for redaction.
    pub(crate) fn collect_secret(&mut self, value: &str) {
        let reference = value.starts_with("file://") || value.starts_with("enc://");
        let placeholder =
            value == NOT_HERE || PLACEHOLDERS.iter().any(|word| value.eq_ignore_ascii_case(word));
        if value.len() >= MIN_SECRET_LEN && !placeholder && !reference {
            self.found.push(value.to_owned());
        }
    }
}
