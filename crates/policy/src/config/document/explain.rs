//! Turns an error of `jsonc-parser` into one that names the key and the remedy.

use super::parse::{SyntaxError, scanner_options, too_deep};
use super::position::Lines;
use crate::config::fault::Problem;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{ParseStringErrorKind, Scanner};

/// Explains why `text` does not parse.
pub(super) fn explain(text: &str, error: &ParseError) -> SyntaxError {
    use ParseErrorKind as Kind;
    use ParseStringErrorKind as StringKind;
    let start = error.range().start;
    let context = Context::find(
        text,
        match error.kind() {
            // These errors point to the opening bracket.
            Kind::UnterminatedObject | Kind::UnterminatedArray => text.len(),
            _ => start,
        },
    );
    let (at, problem, hint) = match error.kind() {
        _ if context.open_string.is_some() => open_string(context.open_string.unwrap_or(start)),
        Kind::String(StringKind::UnterminatedStringLiteral) => open_string(start),
        Kind::String(StringKind::ExpectedFourHexDigits | StringKind::InvalidUnicodeEscapeSequence(_)) => {
            let hint = "four hexadecimal digits follow `\\u`, and both halves of a pair are needed";
            (start, Problem::BadUnicode, hint.to_owned())
        }
        Kind::String(_) => {
            let escape: String = text[start + 1..].chars().take(1).flat_map(char::escape_debug).collect();
            let hint = format!("double the backslash: `\\\\{escape}`");
            (start, Problem::UndefinedEscape { escape }, hint)
        }
        Kind::UnterminatedCommentBlock => (start, Problem::OpenComment, "close it with `*/`".to_owned()),
        Kind::NestingDepthExceeded => return too_deep(start, context.key()),
        _ => context.unexpected(text),
    };
    SyntaxError { at, key: context.key(), problem, hint }
}

fn open_string(at: usize) -> (usize, Problem, String) {
    (at, Problem::OpenString, "close it with `\"` on the same line".to_owned())
}

/// What the grammar expects next inside a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Key,
    Colon,
    Value,
    Separator,
}

/// An open object or array.
struct Container {
    open: usize,
    /// The closing bracket.
    close: char,
    expected: Expected,
    /// The last step of the path: `.key` or `[index]`.
    step: String,
    index: usize,
}

/// The position of the offending token in the document.
struct Context {
    /// Offset of the offending token, or the end of the text.
    at: usize,
    containers: Vec<Container>,
    /// Whether the root value is complete.
    complete: bool,
    /// The first string that contains a line break.
    open_string: Option<usize>,
}

impl Context {
    /// Scans the tokens before the one at or after `limit`.
    fn find(text: &str, limit: usize) -> Self {
        let mut scanner = Scanner::new(text, &scanner_options());
        let mut context = Self { at: 0, containers: Vec::new(), complete: false, open_string: None };
        loop {
            let token = scanner.scan();
            context.at = scanner.token_start();
            let Ok(Some(token)) = token else { return context };
            let end = scanner.token_end();
            if context.at >= limit || is_glued_number(&token, &text[end..]) {
                return context;
            }
            if matches!(token, Token::String(_)) && text[context.at..end].contains(['\n', '\r']) {
                context.open_string = Some(context.at);
                return context;
            }
            context.consume(&token);
        }
    }

    fn consume(&mut self, token: &Token<'_>) {
        let at = self.at;
        let mut open = |close, expected| {
            let step = if close == ']' { "[0]".to_owned() } else { String::new() };
            self.containers.push(Container { open: at, close, expected, step, index: 0 });
        };
        match token {
            Token::OpenBrace => return open('}', Expected::Key),
            Token::OpenBracket => return open(']', Expected::Value),
            Token::CommentLine(_) | Token::CommentBlock(_) => return,
            Token::CloseBrace | Token::CloseBracket => {
                self.containers.pop();
            }
            _ => {}
        }
        let Some(container) = self.containers.last_mut() else {
            self.complete = true;
            return;
        };
        match (token, container.expected) {
            (Token::String(name), Expected::Key) => {
                container.step = format!(".{name}");
                container.expected = Expected::Colon;
            }
            (Token::Colon, _) => container.expected = Expected::Value,
            (Token::Comma, _) if container.close == '}' => container.expected = Expected::Key,
            (Token::Comma, _) => {
                container.index += 1;
                container.step = format!("[{}]", container.index);
                container.expected = Expected::Value;
            }
            _ => {
                container.step.clear();
                container.expected = Expected::Separator;
            }
        }
    }

    /// The path of the key whose value contains the offending token.
    fn key(&self) -> String {
        let path: String = self.containers.iter().map(|container| container.step.as_str()).collect();
        path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
    }

    /// The error for a token that the grammar does not allow here.
    fn unexpected(&self, text: &str) -> (usize, Problem, String) {
        let container = self.containers.last();
        let Some(found) = text[self.at..].chars().next() else {
            let hint = container.map_or_else(String::new, |container| {
                let (line, column) = Lines::new(text).position(container.open);
                format!("`{}` is missing for line {line}, column {column}; ", container.close)
            });
            return (self.at, Problem::EndOfText, format!("{hint}the file may be half-written"));
        };
        let expected = container.map_or(Expected::Value, |container| container.expected);
        let (problem, hint) = match (expected, found) {
            _ if self.complete => {
                (Problem::TextAfterEnd, "one value makes a document; remove what follows it")
            }
            (Expected::Value, '-' | '0'..='9') => {
                (Problem::BadNumber, "digits, with a point or an exponent at most")
            }
            (Expected::Value, 'a'..='z' | 'A'..='Z' | '_') => {
                (Problem::BareWord, "put `\"` around text; words are `true`, `false` and `null`")
            }
            _ => {
                let wanted = match expected {
                    Expected::Key => "a key in `\"`, or `}`",
                    Expected::Colon => "`:` after the key",
                    Expected::Value => "a value",
                    Expected::Separator if container.is_some_and(|container| container.close == ']') => {
                        "`,` or `]`"
                    }
                    Expected::Separator => "`,` or `}`",
                };
                (Problem::Unexpected { found, wanted }, hint(expected, found))
            }
        };
        (self.at, problem, hint.to_owned())
    }
}

/// The remedy for a character that the grammar does not allow.
fn hint(expected: Expected, found: char) -> &'static str {
    match found {
        '\'' => "strings stand in `\"`",
        '#' => "a comment begins with `//`",
        ',' => "one comma separates two values",
        '+' | '.' => "a number begins with a digit or `-`",
        _ if found.is_alphanumeric() && expected == Expected::Key => "keys stand in `\"`",
        '"' | '{' | '[' => "a comma may be missing before it",
        '\0' => "the file may be damaged",
        _ => "look at what stands just before it",
    }
}

/// Whether a number continues where JSON's grammar ends it, as in `080`.
fn is_glued_number(token: &Token<'_>, rest: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
    matches!(token, Token::Number(_)) && rest.starts_with(goes_on)
}
