//! JSON with comments, parsed by `jsonc-parser` and converted into a tree of [`Node`]s.
//!
//! The parser accepts JSON5 escapes and raw control characters in strings. The conversion reports
//! these, so that one run names every backslash that has to be doubled.

use super::explain::explain;
use super::node::{Entry, Node, Origin, Value};
use super::position::Lines;
use crate::config::fault::Problem;
use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions, parse_to_ast};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::rc::Rc;

/// Nesting limit. No setting nests ten levels deep.
const MAX_DEPTH: usize = 64;

/// Number of syntax errors that are reported at once.
const MAX_ERRORS: usize = 20;

/// Comments and trailing commas. Extended escapes are on so that parsing goes on after `\.`;
/// [`Converter::check_string`] reports them.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_extended_string_escapes: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
};

/// Where a text comes from. It determines the [`Origin`] of the nodes.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The configuration file.
    File,
    /// The value of an environment variable.
    Variable(Rc<str>),
}

/// A syntax error, located by byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Byte offset.
    pub(crate) at: usize,
    /// Path of the key whose value contains the error.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) problem: Problem,
    /// What to do about it.
    pub(crate) hint: String,
}

/// A control character that a string contains as an escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EscapedControl {
    /// Offset of the string.
    pub(crate) string: usize,
    /// Offset of the escape.
    pub(crate) at: usize,
    /// The escape as written.
    pub(crate) spelling: String,
}

/// The result of parsing one text.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// The value. `None` if the text is empty or has errors.
    pub(crate) root: Option<Node>,
    /// The syntax errors, in the order of the text.
    pub(crate) errors: Vec<SyntaxError>,
    /// Control characters that escapes put into strings.
    pub(crate) controls: Vec<EscapedControl>,
    /// Offset and path of keys that are repeated with the same value.
    pub(crate) repeated: Vec<(usize, String)>,
}

/// Parses a whole text.
pub(crate) fn parse(text: &str, source: Source) -> Parsed {
    let ast = match parse_to_ast(text, &CollectOptions::default(), &OPTIONS) {
        Ok(result) => result.value,
        Err(error) => return Parsed { errors: vec![explain(text, &error)], ..Parsed::default() },
    };
    let mut converter = Converter { text, source, path: String::new(), parsed: Parsed::default() };
    let root = ast.and_then(|value| converter.value(&value, 0));
    let mut parsed = converter.parsed;
    parsed.root = root.filter(|_| parsed.errors.is_empty());
    parsed
}

/// Whether `text` is a number in JSON's grammar.
pub(crate) fn is_number(text: &str) -> bool {
    let token = Scanner::new(text, &scanner_options()).scan();
    matches!(token, Ok(Some(Token::Number(number))) if number.len() == text.len())
}

/// The scanner's part of [`OPTIONS`].
pub(super) fn scanner_options() -> ScannerOptions {
    ScannerOptions {
        allow_single_quoted_strings: OPTIONS.allow_single_quoted_strings,
        allow_hexadecimal_numbers: OPTIONS.allow_hexadecimal_numbers,
        allow_unary_plus_numbers: OPTIONS.allow_unary_plus_numbers,
        allow_bare_decimal_point_numbers: OPTIONS.allow_bare_decimal_point_numbers,
        allow_non_finite_numbers: OPTIONS.allow_non_finite_numbers,
        allow_extended_string_escapes: OPTIONS.allow_extended_string_escapes,
    }
}

/// Converts the parser's AST. Its methods return `None` once the conversion has to stop.
struct Converter<'a> {
    text: &'a str,
    source: Source,
    path: String,
    parsed: Parsed,
}

impl Converter<'_> {
    fn value(&mut self, ast: &ast::Value<'_>, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            self.parsed.errors.push(too_deep(ast.start(), self.path.clone()));
            return None;
        }
        let value = match ast {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(literal) => Value::Flag(literal.value),
            ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
            ast::Value::StringLit(literal) => {
                self.check_string(literal.range)?;
                Value::Text(literal.value.to_string())
            }
            ast::Value::Array(array) => {
                let items = array.elements.iter().enumerate();
                let items = items.map(|(index, item)| {
                    self.within(&format!("[{index}]"), |converter| converter.value(item, depth + 1))
                });
                Value::List(items.collect::<Option<_>>()?)
            }
            ast::Value::Object(object) => self.object(object, depth)?,
        };
        Some(Node::new(value, self.origin(ast.start())))
    }

    fn object(&mut self, object: &ast::Object<'_>, depth: usize) -> Option<Value> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for property in &object.properties {
            let ObjectPropName::String(name) = &property.name else { continue };
            self.check_string(name.range)?;
            let step = if self.path.is_empty() { name.value.to_string() } else { format!(".{}", name.value) };
            self.within(&step, |converter| {
                let node = converter.value(&property.value, depth + 1)?;
                match seen.entry(name.value.to_string()) {
                    Slot::Vacant(free) => {
                        free.insert(entries.len());
                        let origin = converter.origin(name.range.start);
                        entries.push(Entry { name: name.value.to_string(), origin, node });
                        Some(())
                    }
                    Slot::Occupied(first) => {
                        converter.repeated_key(name.range.start, &entries[*first.get()], &node)
                    }
                }
            })?;
        }
        Some(Value::Map(entries))
    }

    /// Runs `convert` with `step` appended to the path.
    fn within<T>(&mut self, step: &str, convert: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(step);
        let result = convert(self);
        self.path.truncate(length);
        result
    }

    /// PicoClaw's sample files repeat a key with the same value, so that is only a notice.
    fn repeated_key(&mut self, at: usize, first: &Entry, node: &Node) -> Option<()> {
        if first.node.has_same_value(node) {
            self.parsed.repeated.push((at, self.path.clone()));
            return Some(());
        }
        let line = match first.origin {
            Origin::File(first) => Lines::new(self.text).line(first),
            _ => 1,
        };
        let hint = format!("line {line} says something else; keep one of them");
        self.error(at, Problem::DuplicateKey, hint)
    }

    /// Reports what the parser accepts in a string and JSON does not, and records escaped controls.
    fn check_string(&mut self, range: Range) -> Option<()> {
        let raw = &self.text[range.start + 1..range.end - 1];
        let mut chars = raw.char_indices().map(|(at, c)| (range.start + 1 + at, c));
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' | '\r' => {
                    let hint = "close it with `\"` on the same line".to_owned();
                    self.error(range.start, Problem::OpenString, hint)?;
                    return None;
                }
                '\0'..='\u{1f}' => {
                    let hint = format!("write it as `\\u{:04x}`", u32::from(c));
                    self.error(at, Problem::RawControl { byte: c as u8 }, hint)?;
                }
                '\\' => {
                    let Some((_, kind)) = chars.next() else { break };
                    self.check_escape(range.start, at, kind)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    fn check_escape(&mut self, string: usize, at: usize, kind: char) -> Option<()> {
        let length = match kind {
            '"' | '\\' | '/' => return Some(()),
            'b' | 'f' | 'n' | 'r' | 't' => 2,
            'u' if self.is_control(at + 2) => 6,
            'u' => return Some(()),
            _ => {
                let escape: String = kind.escape_debug().collect();
                let hint = format!("double the backslash: `\\\\{escape}`");
                return self.error(at, Problem::UndefinedEscape { escape }, hint);
            }
        };
        let spelling = self.text[at..at + length].to_owned();
        self.parsed.controls.push(EscapedControl { string, at, spelling });
        Some(())
    }

    /// Whether the four hexadecimal digits at `at` are the code of a control character.
    fn is_control(&self, at: usize) -> bool {
        let code = self.text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.and_then(char::from_u32).is_some_and(char::is_control)
    }

    fn error(&mut self, at: usize, problem: Problem, hint: String) -> Option<()> {
        self.parsed.errors.push(SyntaxError { at, key: self.path.clone(), problem, hint });
        (self.parsed.errors.len() < MAX_ERRORS).then_some(())
    }

    fn origin(&self, at: usize) -> Origin {
        match &self.source {
            Source::File => Origin::File(at),
            Source::Variable(name) => Origin::Variable(Rc::clone(name)),
        }
    }
}

/// The error for a value that is nested too deep.
pub(super) fn too_deep(at: usize, key: String) -> SyntaxError {
    let hint = "no setting nests this deep".to_owned();
    SyntaxError { at, key, problem: Problem::TooDeep { most: MAX_DEPTH }, hint }
}
