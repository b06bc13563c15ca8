//! The tree that a document is read into.
//!
//! Invariant: a node knows which layer it came from, and a number is kept as it was written (W86).

use std::fmt;
use std::rc::Rc;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The configuration file, at this byte.
    File(usize),
    /// The secrets file.
    Secrets {
        /// Counted from one.
        line: usize,
        /// Counted from one.
        column: usize,
    },
    /// A variable of the environment.
    Variable(Rc<str>),
}

/// One value of a document.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// What a node can be.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`, which counts as not given.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, as written.
    Number(String),
    /// A string, decoded.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object, in the order of the file.
    Map(Vec<Entry>),
}

/// One key of an object, and its value.
#[derive(Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub origin: Origin,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A node of a value.
    pub fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// What this is, for a sentence: `a string`, `an object`.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Flag(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "an array",
            Value::Map(_) => "an object",
        }
    }

    /// Whether two values are the same, wherever they stand.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::List(one), Value::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.says_the_same(two))
            }
            (Value::Map(one), Value::Map(two)) => {
                let same =
                    |(one, two): (&Entry, &Entry)| one.name == two.name && one.node.says_the_same(&two.node);
                one.len() == two.len() && one.iter().zip(two).all(same)
            }
            (one, two) => one == two,
        }
    }

    /// Whether nothing is given here.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The entries, of an object.
    pub fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    /// The items, of an array.
    pub fn items(&self) -> &[Node] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// The text, of a string.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The value under `name`, unless it is null.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.node)
            .filter(|node| !node.is_null())
    }

    /// The entry under `name`, made when it is missing; an object takes the place of whatever else was here.
    pub(crate) fn slot(&mut self, name: &str, origin: &Origin) -> Option<&mut Node> {
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            let node = Node::new(Value::Null, origin.clone());
            entries.push(Entry { name: name.to_owned(), origin: origin.clone(), node });
            entries.len() - 1
        });
        entries.get_mut(at).map(|entry| &mut entry.node)
    }
}

// The tree holds secrets in plain text: its shape may be printed, its contents not.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {:?}", self.kind(), self.origin)
    }
}
