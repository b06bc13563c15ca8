//! Typed access to a checked tree, with the schema's defaults.

use crate::config::document::{Node, Origin, Value};
use crate::config::schema::{DefaultValue, Key, ROOT, Shape};
use crate::config::secret::Secret;
use std::path::PathBuf;

/// A section of the tree, which may be absent.
pub(super) struct View<'a> {
    node: Option<&'a Node>,
    keys: &'static [Key],
}

impl<'a> View<'a> {
    /// The root section.
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node: Some(node), keys: ROOT }
    }

    /// A subsection.
    pub(super) fn section(&self, name: &str) -> Self {
        match self.shape(name) {
            Some(Shape::Section(keys) | Shape::TextOr(keys) | Shape::ChoiceOr(_, keys)) => {
                Self { node: self.get(name), keys }
            }
            _ => Self { node: None, keys: &[] },
        }
    }

    /// The sections of a list.
    pub(super) fn items(&self, name: &str) -> Vec<Self> {
        let Some(Shape::List(Shape::Section(keys))) = self.shape(name) else { return Vec::new() };
        let items = self.get(name).map_or(&[][..], Node::items);
        items.iter().map(|node| Self { node: Some(node), keys }).collect()
    }

    /// The sections of a map, with their keys.
    pub(super) fn named(&self, name: &str) -> Vec<(&'a str, Self)> {
        let Some(Shape::Map(Shape::Section(keys))) = self.shape(name) else { return Vec::new() };
        let entries = self.get(name).map_or(&[][..], Node::entries);
        let given = entries.iter().filter(|entry| !entry.node.is_null());
        given.map(|entry| (entry.name.as_str(), Self { node: Some(&entry.node), keys })).collect()
    }

    /// The node of a key, if given.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(self.keys.iter().any(|key| key.name == name), "`{name}` is not in the table");
        self.node.and_then(|node| node.get(name))
    }

    /// The origin of a key, or of the section it is missing from.
    pub(super) fn origin(&self, name: &str) -> Origin {
        self.get(name).or(self.node).map_or(Origin::Default, |node| node.origin.clone())
    }

    /// A boolean.
    pub(super) fn flag(&self, name: &str) -> bool {
        match (self.get(name).map(|node| &node.value), self.default(name)) {
            (Some(Value::Flag(flag)), _) | (None, DefaultValue::Flag(flag)) => *flag,
            _ => false,
        }
    }

    /// An integer.
    pub(super) fn whole(&self, name: &str) -> i64 {
        match (self.get(name).map(|node| &node.value), self.default(name)) {
            (Some(Value::Number(text)), _) => text.parse().unwrap_or_default(),
            (_, DefaultValue::Whole(number)) => *number,
            _ => 0,
        }
    }

    /// A non-negative integer.
    pub(super) fn count(&self, name: &str) -> u64 {
        u64::try_from(self.whole(name)).unwrap_or_default()
    }

    /// A non-negative integer; zero means `instead`.
    pub(super) fn count_or(&self, name: &str, instead: u64) -> u64 {
        match self.count(name) {
            0 => instead,
            count => count,
        }
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match &self.get(name)?.value {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A string; empty counts as not given.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        let default = if let DefaultValue::Text(text) = self.default(name) { Some(*text) } else { None };
        self.get(name).and_then(Node::text).filter(|text| !text.is_empty()).or(default)
    }

    /// An owned string.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// Strings.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let items = match (self.get(name), self.default(name)) {
            (Some(node), _) => node.items(),
            (None, DefaultValue::Texts(texts)) => {
                return texts.iter().map(|text| (*text).to_owned()).collect();
            }
            (None, _) => &[],
        };
        items.iter().filter_map(Node::text).map(str::to_owned).collect()
    }

    /// A path.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// A secret.
    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret::new)
    }

    /// Keys with values that may be secret.
    pub(super) fn environment(&self, name: &str) -> Vec<(String, Secret)> {
        let entries = self.get(name).map_or(&[][..], Node::entries);
        let given = |entry: &crate::config::document::Entry| {
            Some((entry.name.clone(), Secret::new(entry.node.text()?)))
        };
        entries.iter().filter_map(given).collect()
    }

    fn shape(&self, name: &str) -> Option<&'static Shape> {
        self.keys.iter().find(|key| key.name == name).map(|key| &key.shape)
    }

    fn default(&self, name: &str) -> &'static DefaultValue {
        self.keys.iter().find(|key| key.name == name).map_or(&DefaultValue::Unset, |key| &key.default)
    }
}
