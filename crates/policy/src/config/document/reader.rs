//! The reader: one pass from text to tree.
//!
//! Invariant: every fault carries the byte and the key it was found at.

use super::node::{Entry, Node, Origin, Value};
pub(crate) use super::text::Control;
use crate::config::fault::Problem;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Entries;
use std::fmt::Write;
use std::rc::Rc;

/// How deep a document may nest: no setting needs ten, and the reader must not run out of stack.
const DEEPEST: usize = 64;

/// How many faults are worth telling at once.
const MOST_FAULTS: usize = 20;

/// What a text is, so that nodes know where they came from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The configuration file.
    File,
    /// The value of a variable.
    Variable(Rc<str>),
}

/// A fault at a byte, before anybody knows the name of the file.
#[derive(Debug, Clone)]
pub(crate) struct Slip {
    /// Where.
    pub(crate) at: usize,
    /// The key in whose value it stands.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) problem: Problem,
    /// What to do.
    pub(crate) hint: String,
}

/// What became of a text.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The value, or `None` for a text that holds nothing or that is broken.
    pub(crate) root: Option<Node>,
    /// Everything that is wrong.
    pub(crate) slips: Vec<Slip>,
    /// Control characters that escapes put into strings.
    pub(crate) controls: Vec<Control>,
    /// Keys that stand twice and say the same.
    pub(crate) echoes: Vec<(usize, String)>,
}

/// The rest of the text means nothing after this.
pub(super) struct Stop;

/// The state of one pass.
pub(super) struct Reader<'a> {
    text: &'a str,
    source: Source,
    pub(super) at: usize,
    path: Vec<Step>,
    slips: Vec<Slip>,
    pub(super) controls: Vec<Control>,
    echoes: Vec<(usize, String)>,
}

enum Step {
    Name(String),
    Index(usize),
}

/// Reads a whole text.
pub(crate) fn read(text: &str, source: Source) -> Reading {
    let (slips, controls, echoes) = (Vec::new(), Vec::new(), Vec::new());
    let mut reader = Reader { text, source, at: 0, path: Vec::new(), slips, controls, echoes };
    let root = reader.document().unwrap_or(None);
    let root = if reader.slips.is_empty() { root } else { None };
    Reading { root, slips: reader.slips, controls: reader.controls, echoes: reader.echoes }
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<Node>, Stop> {
        self.blank()?;
        if self.peek().is_none() {
            return Ok(None);
        }
        let root = self.value(0)?;
        self.blank()?;
        if self.peek().is_some() {
            return Err(self.stop(
                self.at,
                Problem::TextAfterEnd,
                "one value makes a document; remove what follows it",
            ));
        }
        Ok(Some(root))
    }

    fn value(&mut self, depth: usize) -> Result<Node, Stop> {
        if depth > DEEPEST {
            return Err(self.stop(self.at, Problem::TooDeep { most: DEEPEST }, "no setting nests this deep"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node::new(value, self.origin(start)))
    }

    fn map(&mut self, depth: usize) -> Result<Value, Stop> {
        let open = self.at;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Value::Map(entries));
            }
            let start = self.at;
            match self.peek() {
                Some(b'"') => {}
                None => return Err(self.unclosed(open, "}")),
                _ => return Err(self.unexpected("a key in `\"`, or `}`")),
            }
            let name = self.string()?;
            self.path.push(Step::Name(name.clone()));
            self.blank()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:` after the key"));
            }
            self.at += 1;
            self.blank()?;
            let node = self.value(depth + 1)?;
            match seen.entry(name.clone()) {
                Entries::Vacant(free) => {
                    free.insert(entries.len());
                    entries.push(Entry { name, origin: self.origin(start), node });
                }
                Entries::Occupied(first) => {
                    let first: &Entry = &entries[*first.get()];
                    let same = first.node.says_the_same(&node);
                    self.duplicate(start, same, first.origin.clone())?;
                }
            }
            self.path.pop();
            self.separator(open, b'}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Stop> {
        let open = self.at;
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Value::List(items));
            }
            if self.peek().is_none() {
                return Err(self.unclosed(open, "]"));
            }
            self.path.push(Step::Index(items.len()));
            items.push(self.value(depth + 1)?);
            self.path.pop();
            self.separator(open, b']')?;
        }
    }

    /// A key that stands twice. The original's own sample files hold one that says the same twice: that loads.
    fn duplicate(&mut self, at: usize, same: bool, first: Origin) -> Result<(), Stop> {
        if same {
            self.echoes.push((at, self.key()));
            return Ok(());
        }
        let line = match first {
            Origin::File(first) => super::Lines::new(self.text).line(first),
            _ => 1,
        };
        self.fault(at, Problem::DuplicateKey, format!("line {line} says something else; keep one of them"))
    }

    /// Passes the comma after an item; the closing bracket may do without.
    fn separator(&mut self, open: usize, close: u8) -> Result<(), Stop> {
        self.blank()?;
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == close => {}
            None => return Err(self.unclosed(open, if close == b'}' { "}" } else { "]" })),
            _ => return Err(self.unexpected(if close == b'}' { "`,` or `}`" } else { "`,` or `]`" })),
        }
        Ok(())
    }

    /// Passes spaces and comments.
    fn blank(&mut self) -> Result<(), Stop> {
        loop {
            let rest = &self.bytes()[self.at..];
            self.at += rest
                .iter()
                .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
                .unwrap_or(rest.len());
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix("/*") {
                match inside.find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return Err(self.stop(self.at, Problem::OpenComment, "close it with `*/`")),
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// Notes a fault and goes on, unless there are enough of them.
    pub(super) fn fault(&mut self, at: usize, problem: Problem, hint: String) -> Result<(), Stop> {
        let key = self.key();
        self.slips.push(Slip { at, key, problem, hint });
        if self.slips.len() >= MOST_FAULTS { Err(Stop) } else { Ok(()) }
    }

    /// Notes a fault after which nothing can be understood.
    pub(super) fn stop(&mut self, at: usize, problem: Problem, hint: &str) -> Stop {
        let key = self.key();
        self.slips.push(Slip { at, key, problem, hint: hint.to_owned() });
        Stop
    }

    fn unclosed(&mut self, open: usize, close: &str) -> Stop {
        let (line, column) = super::Lines::new(self.text).position(open);
        let hint =
            format!("`{close}` is missing for line {line}, column {column}; the file may be half-written");
        self.stop(self.at, Problem::EndOfText, &hint)
    }

    fn unexpected(&mut self, wanted: &'static str) -> Stop {
        let Some(found) = self.text[self.at..].chars().next() else {
            return self.stop(self.at, Problem::EndOfText, "the file may be half-written");
        };
        let hint = match found {
            '\'' => "strings stand in `\"`",
            '#' => "a comment begins with `//`",
            ',' => "one comma separates two values",
            '+' | '.' => "a number begins with a digit or `-`",
            _ if found.is_alphanumeric() && wanted.starts_with("a key") => "keys stand in `\"`",
            '"' | '{' | '[' => "a comma may be missing before it",
            '\0' => "the file may be damaged",
            _ => "look at what stands just before it",
        };
        self.stop(self.at, Problem::Unexpected { found, wanted }, hint)
    }

    fn origin(&self, at: usize) -> Origin {
        match &self.source {
            Source::File => Origin::File(at),
            Source::Variable(name) => Origin::Variable(Rc::clone(name)),
        }
    }

    fn key(&self) -> String {
        self.path.iter().fold(String::new(), |mut key, step| {
            match step {
                Step::Name(name) => {
                    let dot = if key.is_empty() { "" } else { "." };
                    key.push_str(dot);
                    key.push_str(name);
                }
                // Writing to a string cannot fail.
                Step::Index(index) => _ = write!(key, "[{index}]"),
            }
            key
        })
    }
}
