//! Arithmetic: expressions that run commands, and assign.
//!
//! Invariant: a variable whose value would be evaluated again, substitutions included, is refused.

use super::interpreter::Interpreter;
use super::partial_word::{NAME, PartialWord};
use super::state::{State, Variable};
use crate::shell::word::Arithmetic;
use std::rc::Rc;

impl Interpreter<'_> {
    /// Judges what an expression runs, and forgets what it assigns.
    pub(super) fn arithmetic(&mut self, arithmetic: &Arithmetic, state: &mut Rc<State>) {
        let texts = self.text_of(&arithmetic.pieces, state);
        for text in texts {
            self.evaluated(text.as_str(), state);
        }
    }

    /// Names in an expression are variables, and their values are expressions, substitutions included.
    pub(super) fn evaluated(&mut self, expression: &str, state: &mut Rc<State>) {
        for (name, rest) in names(expression) {
            let hidden = match state.variables.get(name) {
                Some(Variable::Scalar(values) | Variable::Array(values)) => values.iter().any(hides),
                _ => false,
            };
            if hidden {
                self.not_understood("a variable whose value would be evaluated as arithmetic", name);
            }
            let rest = rest.trim_start();
            let assigns = rest.starts_with("++") || rest.starts_with("--") || is_assignment(rest);
            if assigns {
                Rc::make_mut(state).set(name, vec![PartialWord::gap(NAME)]);
            }
        }
    }
}

impl Interpreter<'_> {
    /// Judges values that a variable with the integer attribute takes: they are expressions.
    pub(super) fn as_integer(&mut self, value: &Variable, state: &mut Rc<State>) {
        let (Variable::Scalar(values) | Variable::Array(values)) = value else { return };
        for value in values {
            if hides(value) {
                self.not_understood("a value that would be evaluated as arithmetic", value.as_str());
            }
            self.evaluated(value.as_str(), state);
        }
    }

    /// Judges the name of a variable that is only known as a value: its subscript is evaluated.
    pub(super) fn named(&mut self, name: &PartialWord) {
        if is_evaluated(name.as_str()) {
            self.not_understood("a subscript that would be expanded again", name.as_str());
        }
    }
}

/// `a[$(cmd)]` as the name of a variable.
pub(super) fn is_evaluated(arg: &str) -> bool {
    arg.split_once('[').is_some_and(|(name, rest)| {
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_name && (rest.contains("$(") || rest.contains('`'))
    })
}

/// Whether a value that is evaluated would run something, or lead to another value that does.
fn hides(value: &PartialWord) -> bool {
    value.as_str().contains(['$', '`', '['])
}

/// Every name in an expression, with what follows it.
fn names(expression: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = expression;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_')?;
        let tail = &rest[start..];
        let end = tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(tail.len());
        rest = &tail[end..];
        Some((&tail[..end], rest))
    })
}

fn is_assignment(rest: &str) -> bool {
    let operator = rest.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
    operator.starts_with('=') && !operator.starts_with("==")
}
