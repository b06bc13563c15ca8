//! The effective configuration as rows: key, masked value, origin.

use super::check::push_step;
use super::config::Config;
use super::document::{Lines, Node, Origin, Value};
use super::merge::{ConfigTree, LoadedConfig};
use super::schema::{DefaultValue, Key, KeySupport, ROOT, Shape};
use super::secret::{MASK, names_a_secret};
use super::secret_shape::{mask_word, mask_words};
use super::sources::Sources;
use serde_json::Value as Json;
use std::path::Path;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownKey {
    /// The key.
    pub key: String,
    /// Its value, masked if it is a secret.
    pub value: Json,
    /// `default`, `<file>:<line>` or `env <name>`.
    pub origin: String,
    /// What a key of PicoClaw that is not served is for.
    pub foreign: Option<&'static str>,
}

/// Keys whose lists are command lines.
const COMMANDS: [&str; 2] = ["args", "command"];

impl LoadedConfig {
    /// Every supported key, and what else the files contain.
    pub fn show(&self, sources: &Sources<'_>, instance: &Path) -> Vec<ShownKey> {
        self.tree.show(&self.config, sources, instance)
    }
}

impl ConfigTree {
    /// Every supported key of `config`, and what else the files contain.
    pub fn show(&self, config: &Config, sources: &Sources<'_>, instance: &Path) -> Vec<ShownKey> {
        let lines = sources.lines();
        let mut rows = Rows { sources, lines, secrets: &config.secrets, foreign: None, rows: Vec::new() };
        rows.push_section(Some(&self.root), ROOT, &mut String::new());
        let workspace =
            rows.rows.iter_mut().find(|row| row.key == "agents.defaults.workspace" && row.value.is_null());
        if let Some(row) = workspace {
            row.value = Json::from(instance.join("workspace").to_string_lossy());
        }
        rows.rows
    }
}

struct Rows<'a> {
    sources: &'a Sources<'a>,
    lines: Lines<'a>,
    secrets: &'a [String],
    /// While the values of such a key are pushed.
    foreign: Option<&'static str>,
    rows: Vec<ShownKey>,
}

impl Rows<'_> {
    fn push_section(&mut self, node: Option<&Node>, keys: &'static [Key], path: &mut String) {
        for key in keys {
            let length = path.len();
            push_step(path, key.name);
            let given = node.and_then(|node| node.get(key.name));
            match (&key.shape, given) {
                (Shape::Section(inner), given) => self.push_section(given, inner, path),
                (_, None) if key.serving == KeySupport::Foreign || key.name.starts_with('$') => {}
                (_, None) => self.push(path, default_json(key), "default".to_owned()),
                (shape, Some(node)) => {
                    self.foreign = (key.serving == KeySupport::Foreign).then_some(key.doc);
                    self.push_value(node, shape, key.name, path);
                    self.foreign = None;
                }
            }
            path.truncate(length);
        }
    }

    fn push_value(&mut self, node: &Node, shape: &'static Shape, name: &str, path: &mut String) {
        let length = path.len();
        match shape {
            Shape::List(Shape::Section(keys)) if !node.items().is_empty() => {
                for (index, item) in node.items().iter().enumerate() {
                    path.push_str(&format!("[{index}]"));
                    self.push_entry(item, keys, path);
                    path.truncate(length);
                }
            }
            Shape::Map(Shape::Section(keys)) if !node.entries().is_empty() => {
                for entry in node.entries() {
                    push_step(path, &entry.name);
                    self.push_entry(&entry.node, keys, path);
                    path.truncate(length);
                }
            }
            _ => {
                let value = self.mask_value(node, shape, name);
                self.push(path, value, self.origin_text(&node.origin));
            }
        }
    }

    /// An entry of a list or map: keys that are not given have no row.
    fn push_entry(&mut self, node: &Node, keys: &'static [Key], path: &mut String) {
        for key in keys {
            let Some(given) = node.get(key.name) else { continue };
            let length = path.len();
            push_step(path, key.name);
            match &key.shape {
                Shape::Section(inner) => self.push_entry(given, inner, path),
                shape => {
                    self.foreign = (key.serving == KeySupport::Foreign).then_some(key.doc);
                    self.push_value(given, shape, key.name, path);
                    self.foreign = None;
                }
            }
            path.truncate(length);
        }
    }

    fn mask_value(&self, node: &Node, shape: &'static Shape, name: &str) -> Json {
        match (&node.value, shape) {
            (Value::Null, _) => Json::Null,
            (Value::Text(_) | Value::Number(_), Shape::Secret) => Json::from(MASK),
            (Value::Text(_) | Value::Number(_), Shape::Any) if names_a_secret(name) => Json::from(MASK),
            (Value::Text(text), _) => Json::from(self.without_secrets(text)),
            (Value::Flag(flag), _) => Json::from(*flag),
            (Value::Number(text), _) => text.parse().map_or_else(|_| Json::from(text.as_str()), Json::Number),
            // The words of a command line: an option names what the next word is.
            (Value::List(items), _) if COMMANDS.contains(&name) => {
                let words = items.iter().map(|item| match &item.value {
                    Value::Text(text) => self.without_secrets(text),
                    _ => String::new(),
                });
                mask_words(&words.collect::<Vec<_>>()).into()
            }
            (Value::List(items), Shape::List(inner)) => {
                items.iter().map(|item| self.mask_value(item, inner, name)).collect()
            }
            (Value::List(items), _) => items.iter().map(|item| self.mask_value(item, shape, name)).collect(),
            (Value::Map(entries), Shape::Environment) => {
                entries.iter().map(|entry| (entry.name.clone(), Json::from(MASK))).collect()
            }
            (Value::Map(entries), _) => entries
                .iter()
                .map(|entry| {
                    (entry.name.clone(), self.mask_value(&entry.node, const { &Shape::Any }, &entry.name))
                })
                .collect(),
        }
    }

    /// `text` without passwords and other known secrets.
    fn without_secrets(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for secret in self.secrets.iter().filter(|secret| text.contains(secret.as_str())) {
            shown = shown.replace(secret.as_str(), MASK);
        }
        mask_word(&shown)
    }

    fn origin_text(&self, origin: &Origin) -> String {
        match origin {
            Origin::Default => "default".to_owned(),
            Origin::File(at) => format!("{}:{}", self.sources.file, self.lines.line(*at)),
            Origin::Secrets { line, .. } => format!("{}:{line}", self.sources.secrets),
            Origin::Variable(name) => format!("env {name}"),
        }
    }

    fn push(&mut self, key: &str, value: Json, origin: String) {
        self.rows.push(ShownKey { key: key.to_owned(), value, origin, foreign: self.foreign });
    }
}

fn default_json(key: &Key) -> Json {
    match (key.default, &key.shape) {
        (DefaultValue::Flag(flag), _) => Json::from(flag),
        (DefaultValue::Whole(number), _) => Json::from(number),
        (DefaultValue::Text(text), _) => Json::from(text),
        (DefaultValue::Texts(texts), _) => Json::from(texts),
        (DefaultValue::Unset, Shape::List(_)) => Json::Array(Vec::new()),
        (DefaultValue::Unset, Shape::Map(_) | Shape::Environment) => Json::Object(serde_json::Map::new()),
        (DefaultValue::Unset, _) => Json::Null,
    }
}
