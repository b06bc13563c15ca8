//! Arithmetic: expressions that run commands, and assign.
//!
//! A variable whose value would be evaluated again, substitutions included, is refused.

use super::interpreter::Interpreter;
use super::partial_word::{NAME, PartialWord};
use super::state::{State, Variable};
use crate::shell::word::Arithmetic;
use std::rc::Rc;

impl Interpreter<'_> {
    /// Judges what an expression runs, and drops the values of variables that it assigns.
    pub(super) fn arithmetic(&mut self, arithmetic: &Arithmetic, state: &mut Rc<State>) {
        let texts = self.expand_text(&arithmetic.pieces, state);
        for text in texts {
            self.judge_evaluated(text.as_str(), state);
        }
    }

    /// Names in an expression are variables, and their values are expressions, substitutions included.
    pub(super) fn judge_evaluated(&mut self, expression: &str, state: &mut Rc<State>) {
        for (name, rest) in names(expression) {
            let hidden = match state.variables.get(name) {
                Some(Variable::Scalar(values) | Variable::Array(values)) => {
                    values.iter().any(runs_when_evaluated)
                }
                _ => false,
            };
            if hidden {
                self.report_not_understood("a variable whose value would be evaluated as arithmetic", name);
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
    /// Judges values of a variable with the integer attribute: they are expressions.
    pub(super) fn judge_integer(&mut self, value: &Variable, state: &mut Rc<State>) {
        let (Variable::Scalar(values) | Variable::Array(values)) = value else { return };
        for value in values {
            if runs_when_evaluated(value) {
                self.report_not_understood("a value that would be evaluated as arithmetic", value.as_str());
            }
            self.judge_evaluated(value.as_str(), state);
        }
    }

    /// Judges a variable name that is known only as a value: its subscript is evaluated.
    pub(super) fn judge_variable_name(&mut self, name: &PartialWord) {
        if is_evaluated(name.as_str()) {
            self.report_not_understood("a subscript that would be expanded again", name.as_str());
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

/// Whether evaluating a value would run something, or lead to another value that does.
fn runs_when_evaluated(value: &PartialWord) -> bool {
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
