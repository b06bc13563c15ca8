//! Checks a tree against the schema, and normalises it: older spellings renamed, comment keys
//! dropped, `~` expanded.

use super::document::{Entry, EscapedControl, Lines, Node, Origin, Value};
use super::fault::{Fault, Problem, SourceLocation, printable};
use super::schema::{Aliases, Key, KeySupport, Shape};
use super::sources::Sources;
use super::suggest::suggest;
use std::cell::OnceCell;
use std::fmt;
use std::path::Path;

/// Number of faults that are reported at once.
const MAX_FAULTS: usize = 20;

/// Number of notices that are kept. A hostile file could cause any number.
const MAX_NOTICES: usize = 500;

/// Something that loads, but that the operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Where it was found.
    pub location: SourceLocation,
    /// The message.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, printable(&self.text))
    }
}

/// One check and its findings.
pub(crate) struct Checker<'a> {
    pub(crate) sources: &'a Sources<'a>,
    pub(crate) controls: &'a [EscapedControl],
    pub(crate) user_home: Option<&'a Path>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) notices: Vec<Notice>,
    lines: OnceCell<Lines<'a>>,
}

impl<'a> Checker<'a> {
    /// A check without findings.
    pub(crate) fn new(
        sources: &'a Sources<'a>,
        controls: &'a [EscapedControl],
        user_home: Option<&'a Path>,
    ) -> Self {
        let (faults, notices) = (Vec::new(), Vec::new());
        Self { sources, controls, user_home, faults, notices, lines: OnceCell::new() }
    }

    /// Checks `node`, which has the path `path`, against `shape`.
    pub(crate) fn check_value(&mut self, node: &mut Node, shape: &'static Shape, path: &mut String) {
        match shape {
            Shape::Section(keys) => self.check_section(node, keys, path),
            Shape::TextOr(_) if node.text().is_some() => self.check_scalar(node, &Shape::Text, path),
            Shape::ChoiceOr(words, _) if node.text().is_some() => self.check_choice(node, words, path),
            Shape::ChoiceOr(_, keys) | Shape::TextOr(keys) => self.check_section(node, keys, path),
            Shape::List(inner) => self.check_list(node, inner, path),
            Shape::Map(inner) => self.check_map(node, inner, path),
            Shape::Environment => self.check_map(node, &Shape::Text, path),
            Shape::Any => {}
            leaf => self.check_scalar(node, leaf, path),
        }
    }

    fn check_section(&mut self, node: &mut Node, keys: &'static [Key], path: &mut String) {
        let Value::Map(entries) = &mut node.value else {
            let found = node.kind();
            return self.report_wrong_type(
                &node.origin,
                path,
                "an object",
                found,
                "keys stand between `{` and `}`",
            );
        };
        entries.retain(|entry| !entry.name.starts_with("_comment"));
        for entry in entries.iter_mut() {
            let length = path.len();
            push_step(path, &entry.name);
            match keys.iter().find(|key| is_spelling_of(key, &entry.name)) {
                // Finding the nearest key is expensive: not for faults beyond the limit.
                None if self.is_full() => {}
                None => self.report(&entry.origin, path, Problem::UnknownKey, suggest(&entry.name, keys)),
                Some(key) if key.serving == KeySupport::Foreign => self.report_notice(
                    &entry.origin,
                    format!("`{path}` is a setting of PicoClaw that is not served here ({})", key.doc),
                ),
                Some(_) if entry.node.is_null() => {}
                Some(key) => self.check_value(&mut entry.node, &key.shape, path),
            }
            path.truncate(length);
        }
        for key in keys {
            self.merge_spellings(entries, key, path);
        }
    }

    /// Renames another spelling of `key`, or drops it if the key itself is present too.
    fn merge_spellings(&mut self, entries: &mut Vec<Entry>, key: &'static Key, path: &str) {
        for alias in key.aliases.names() {
            let Some(other) = entries.iter().position(|entry| entry.name == *alias) else { continue };
            let Some(own) = entries.iter().position(|entry| entry.name == key.name) else {
                key.name.clone_into(&mut entries[other].name);
                continue;
            };
            let loser = match (&key.aliases, is_empty(&entries[own].node), is_empty(&entries[other].node)) {
                (_, true, _) => own,
                (_, _, true) | (Aliases::Older(_), ..) => other,
                (Aliases::Twin(_), ..) => {
                    let problem = Problem::TwoSpellings { other: key.name.to_owned() };
                    let at = if path.is_empty() { (*alias).to_owned() } else { format!("{path}.{alias}") };
                    self.report(&entries[other].origin, &at, problem, "keep one of the two");
                    other
                }
            };
            let lost = entries.remove(loser);
            if !is_empty(&lost.node) {
                self.report_notice(
                    &lost.origin,
                    format!("`{alias}` is an older spelling; `{}` beside it is read", key.name),
                );
            }
            if let Some(kept) = entries.iter_mut().find(|entry| entry.name == *alias) {
                key.name.clone_into(&mut kept.name);
            }
        }
    }

    fn check_list(&mut self, node: &mut Node, inner: &'static Shape, path: &mut String) {
        let Value::List(items) = &mut node.value else {
            let hint = if node.text().is_some() {
                "put it between `[` and `]`"
            } else {
                "values stand between `[` and `]`"
            };
            return self.report_wrong_type(&node.origin, path, "an array", node.kind(), hint);
        };
        for (index, item) in items.iter_mut().enumerate() {
            let length = path.len();
            path.push_str(&format!("[{index}]"));
            self.check_value(item, inner, path);
            path.truncate(length);
        }
    }

    fn check_map(&mut self, node: &mut Node, inner: &'static Shape, path: &mut String) {
        let Value::Map(entries) = &mut node.value else {
            return self.report_wrong_type(
                &node.origin,
                path,
                "an object",
                node.kind(),
                "names and values stand between `{` and `}`",
            );
        };
        entries.retain(|entry| !entry.name.starts_with("_comment"));
        for entry in entries {
            let length = path.len();
            push_step(path, &entry.name);
            if entry.name.trim().is_empty() || entry.name.contains(char::is_control) {
                self.report(
                    &entry.origin,
                    path,
                    Problem::Refused("this is not a valid name".to_owned()),
                    "use letters and digits",
                );
            } else if !entry.node.is_null() {
                self.check_value(&mut entry.node, inner, path);
            }
            path.truncate(length);
        }
    }

    /// Whether the limit of faults is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }

    pub(crate) fn report(&mut self, origin: &Origin, path: &str, problem: Problem, hint: impl Into<String>) {
        if !self.is_full() {
            let place = self.locate(origin);
            self.faults.push(Fault { location: place, key: path.to_owned(), problem, hint: hint.into() });
        }
    }

    pub(crate) fn report_wrong_type(
        &mut self,
        origin: &Origin,
        path: &str,
        wanted: &str,
        found: &str,
        hint: &str,
    ) {
        let problem = Problem::WrongKind { wanted: wanted.to_owned(), found: found.to_owned() };
        self.report(origin, path, problem, hint);
    }

    pub(crate) fn report_notice(&mut self, origin: &Origin, text: String) {
        if self.notices.len() < MAX_NOTICES {
            self.notices.push(Notice { location: self.locate(origin), text });
        }
    }

    fn locate(&self, origin: &Origin) -> SourceLocation {
        self.sources.locate(origin, self.lines.get_or_init(|| self.sources.lines()))
    }
}

/// Appends one step to a path.
pub(crate) fn push_step(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn is_spelling_of(key: &Key, name: &str) -> bool {
    key.name == name || key.aliases.names().contains(&name)
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Flag(_) | Value::Number(_) => false,
    }
}
