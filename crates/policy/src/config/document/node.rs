//! The tree of a document. Numbers keep their spelling (W86).

use std::fmt;
use std::rc::Rc;

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A built-in default.
    Default,
    /// The configuration file, at this byte offset.
    File(usize),
    /// The secrets file.
    Secrets {
        /// Starts at one.
        line: usize,
        /// Starts at one.
        column: usize,
    },
    /// An environment variable.
    Variable(Rc<str>),
}

/// One value of a document.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

/// The value of a node.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`, which counts as not given.
    Null,
    /// A boolean.
    Flag(bool),
    /// A number as written.
    Number(String),
    /// A string, decoded.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object, in the order of the file.
    Map(Vec<Entry>),
}

/// A key of an object and its value.
#[derive(Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// The origin of the key.
    pub origin: Origin,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A node of a value.
    pub fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The type with its article: `a string`, `an object`.
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

    /// Whether two values are equal, apart from their origin.
    pub(crate) fn has_same_value(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::List(one), Value::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.has_same_value(two))
            }
            (Value::Map(one), Value::Map(two)) => {
                let same =
                    |(one, two): (&Entry, &Entry)| one.name == two.name && one.node.has_same_value(&two.node);
                one.len() == two.len() && one.iter().zip(two).all(same)
            }
            (one, two) => one == two,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The entries of an object.
    pub fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }

    /// The items of an array.
    pub fn items(&self) -> &[Node] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// The text of a string.
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

    /// The value under `name`, created if missing. A value that is not an object is replaced by
    /// one.
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

// The tree contains secrets in plain text, so `Debug` prints only its shape.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {:?}", self.kind(), self.origin)
    }
}
