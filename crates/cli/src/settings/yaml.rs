//! Parses `.security.yml` into a tree of nodes.
//!
//! Scalars keep their spelling, so a token of digits keeps every digit (W86). Anchors, aliases and
//! tags are refused, so the tree is never larger than the file.

use picoclaw_policy::config::{ConfigError, Entry, Fault, Node, Origin, Problem, SourceLocation, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashSet;

/// Nesting limit of a secrets file.
const MAX_DEPTH: usize = 32;

/// Parses a secrets file; `None` if it is empty.
pub(super) fn parse_yaml(text: &str, file: &str) -> Result<Option<Node>, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = YamlReader { parser: Parser::new_from_str(text), file };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(root),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (_, span) if root.is_some() => {
                return Err(reader.fault(span, "the file contains a second document", "keep one"));
            }
            (event, span) => root = Some(reader.node(event, span, 0)?),
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    file: &'a str,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), ConfigError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(fault)) => {
                let place = self.locate(fault.marker().line(), fault.marker().col());
                // The parser's message describes the syntax and contains no part of the text.
                let problem = Problem::Refused(format!("not YAML: {}", fault.info()));
                Err(error(place, problem, "names and values, one a line, with spaces for indentation"))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, ConfigError> {
        if depth > MAX_DEPTH {
            return Err(self.fault(span, "nested too deep", "secrets stand a few levels deep at most"));
        }
        let origin = Origin::Secrets { line: span.start.line(), column: span.start.col() + 1 };
        let value = match event {
            Event::Scalar(text, style, 0, None) => scalar(&text, style),
            Event::SequenceStart(0, None) => self.list(depth)?,
            Event::MappingStart(0, None) => self.map(depth)?,
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(_) => {
                return Err(self.fault(
                    span,
                    "anchors, aliases and tags are not read here",
                    "write the value itself",
                ));
            }
            _ => return Err(self.fault(span, "expected a value", "look at what stands just before it")),
        };
        Ok(Node::new(value, origin))
    }

    fn list(&mut self, depth: usize) -> Result<Value, ConfigError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, ConfigError> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (name, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Value::Map(entries)),
                (Event::Scalar(name, _, 0, None), span) => (name.into_owned(), span),
                (_, span) => return Err(self.fault(span, "a name must be plain text", "put `\"` around it")),
            };
            if !seen.insert(name.clone()) {
                return Err(self.fault(span, "the name appears a second time", "keep one of them"));
            }
            let origin = Origin::Secrets { line: span.start.line(), column: span.start.col() + 1 };
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            entries.push(Entry { name, origin, node });
        }
    }

    fn fault(&self, span: Span, what: &str, hint: &str) -> ConfigError {
        error(self.locate(span.start.line(), span.start.col()), Problem::Refused(what.to_owned()), hint)
    }

    fn locate(&self, line: usize, column: usize) -> SourceLocation {
        SourceLocation::File { file: self.file.to_owned(), line, column: column + 1 }
    }
}

fn error(location: SourceLocation, problem: Problem, hint: &str) -> ConfigError {
    ConfigError { faults: vec![Fault { location, key: String::new(), problem, hint: hint.to_owned() }] }
}

/// Text as written, or YAML's null.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    let nothing = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    if nothing { Value::Null } else { Value::Text(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(node: &'a Node, path: &[&str]) -> Option<&'a str> {
        path.iter().try_fold(node, |node, name| node.get(name)).and_then(Node::text)
    }

    #[test]
    fn scalars_stay_as_they_are_written() {
        let yaml = "a: 1234567890123456789012\nb: 0123\nc: 'yes'\nd: true\ne: 1e5\nf: \"x\\ty\"\ng: ~\nh: # nothing\n";
        let node = parse_yaml(yaml, "s").unwrap().unwrap();
        for (why, name, want) in [
            ("every digit", "a", Some("1234567890123456789012")),
            ("a leading zero", "b", Some("0123")),
            ("a quoted word", "c", Some("yes")),
            ("a bare word", "d", Some("true")),
            ("what looks like a number", "e", Some("1e5")),
            ("an escape", "f", Some("x\ty")),
            ("nothing", "g", None),
            ("nothing at all", "h", None),
        ] {
            assert_eq!(text(&node, &[name]), want, "{why}");
        }
    }

    #[test]
    fn an_empty_file_holds_nothing() {
        for yaml in ["", "\n", "# only a comment\n", "---\n"] {
            let node = parse_yaml(yaml, "s").unwrap();
            assert!(node.is_none_or(|node| node.is_null()), "{yaml:?}");
        }
    }

    #[test]
    fn what_could_unfold_or_mislead_is_refused_with_its_place() {
        let bomb = "a: &a [x]\nb: &b [*a,*a]\n";
        let deep = format!("a: {}", "[".repeat(100));
        let very_deep = format!("a: {}", "[".repeat(200_000));
        let nested: String = (0..40).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
        for (why, yaml, part) in [
            ("an anchor", bomb, "s:1:"),
            ("an alias of nothing", "a: *b", "s:1:"),
            ("a tag", "a: !!binary aGk=", "s:1:4"),
            ("a second document", "a: 1\n---\nb: 2\n", "s:3:"),
            ("a name twice", "a: 1\na: 2\n", "s:2:1"),
            ("a list as a name", "[a]: b\n", "s:1:"),
            ("deep flow", &deep, "s:1:"),
            ("very deep flow", &very_deep, "s:1:"),
            ("deep blocks", &nested, "nested too deep"),
            ("tabs", "a:\n\tb: 1\n", "s:2:"),
            ("an open quote", "a: \"x\n", "s:"),
        ] {
            let error = parse_yaml(yaml, "s").unwrap_err().to_string();
            assert!(error.contains(part), "{why}: {error}");
        }
    }

    #[test]
    fn a_fault_does_not_repeat_the_text_around_it() {
        let error = parse_yaml("api_keys: [sk-very-secret\nx: y: z", "s").unwrap_err().to_string();
        assert!(!error.contains("sk-very"), "{error}");
    }
}
