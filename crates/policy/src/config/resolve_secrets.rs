//! Resolves references to secrets, and collects every secret value for redaction.

use super::check::{Checker, push_step};
use super::document::{Node, Value};
use super::fault::Problem;
use super::schema::{Key, Shape};
use super::secret::{NOT_HERE, looks_secret, names_a_secret, password_in};

/// Shorter values are not redacted: replacing two letters would only garble the output.
const MIN_SECRET_LEN: usize = 4;

/// Placeholders for keys that are not needed. Redacting these words would protect nothing.
const PLACEHOLDERS: &[&str] = &["none", "null", "dummy", "empty", "test", "local", "ollama", "fake"];

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
            Shape::Section(keys) | Shape::TextOr(keys) => self.resolve_section(node, keys, path),
            Shape::Secret => self.resolve_secret(node, path),
            Shape::Address | Shape::Text => self.collect_from_text(node),
            Shape::Environment => {
                for entry in node.entries() {
                    self.collect_from_variable(&entry.name, &entry.node);
                }
            }
            Shape::Any => self.collect_by_name(name, node),
            Shape::List(inner) => {
                let Value::List(items) = &mut node.value else { return };
                for pair in items.windows(2) {
                    if let [Some(option), Some(value)] = [pair[0].text(), pair[1].text()]
                        && option.starts_with('-')
                    {
                        self.collect_option(option, value);
                    }
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
        if names_a_secret(name) || looks_secret(text) {
            self.collect_secret(text);
            // The credential of an `Authorization` header is secret without its scheme, too.
            if let Some((_, credential)) = text.split_once(' ') {
                self.collect_secret(credential.trim());
            }
        }
        self.collect_from_text(node);
    }

    /// The password of an address, and values of parameters and options that are named like secrets.
    fn collect_from_text(&mut self, node: &Node) {
        let Some(text) = node.text() else { return };
        if let Some(password) = password_in(text) {
            self.collect_secret(password);
        }
        for (name, value) in text.split(['?', '&', '#', ' ']).filter_map(|part| part.split_once('=')) {
            self.collect_option(name, value);
        }
    }

    fn collect_option(&mut self, name: &str, value: &str) {
        if names_a_secret(name) && looks_secret(value) {
            self.collect_secret(value);
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
