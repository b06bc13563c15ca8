//! Arithmetic: expressions that run commands, and assign.
//!
//! A variable whose value would be evaluated again, substitutions included, is refused.

use super::interpreter::Interpreter;
use super::partial_word::{NAME, PartialWord};
use super::state::{State, Variable};
use crate::shell::word::Arithmetic;
use std::rc::Rc;

/// Maximum number of variables that refer to each other.
const MAX_EVALUATIONS: usize = 2;
/// Maximum number of names of one value that are followed.
const MAX_NAMES: usize = 16;

impl Interpreter<'_> {
    /// Judges what an expression runs, and drops the values of variables that it assigns.
    pub(super) fn arithmetic(&mut self, arithmetic: &Arithmetic, state: &mut Rc<State>) {
        let texts = self.expand_text(&arithmetic.pieces, state);
        for text in texts {
            self.judge_evaluated(text.as_str(), state);
        }
    }

    /// Names in an expression are variables, and their values are expressions, substitutions
    /// included.
    pub(super) fn judge_evaluated(&mut self, expression: &str, state: &mut Rc<State>) {
        for (name, rest) in names(expression) {
            let hidden = self.is_run_when_evaluated(name, state, 0);
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

    /// Whether evaluating a variable runs something: its value is an expression, with further
    /// names.
    fn is_run_when_evaluated(&self, name: &str, state: &State, depth: usize) -> bool {
        let Some(Variable::Scalar(values) | Variable::Array(values)) = state.variables.get(name) else {
            return false;
        };
        depth > MAX_EVALUATIONS
            || values.iter().any(|value| {
                runs_when_evaluated(value)
                    || (self.has_quoted_code
                        && (value.is_open()
                            || names(value.as_str()).nth(MAX_NAMES).is_some()
                            || names(value.as_str())
                                .take(MAX_NAMES)
                                .any(|(name, _)| self.is_run_when_evaluated(name, state, depth + 1))))
            })
    }

    /// Judges values of a variable with the integer attribute: they are expressions.
    pub(super) fn judge_integer(&mut self, value: &Variable, state: &mut Rc<State>) {
        let (Variable::Scalar(values) | Variable::Array(values)) = value else { return };
        for value in values {
            if runs_when_evaluated(value) || (self.has_quoted_code && value.is_open()) {
                self.report_evaluated(value.as_str());
            }
            self.judge_evaluated(value.as_str(), state);
        }
    }

    pub(super) fn report_evaluated(&mut self, value: &str) {
        self.report_not_understood("a value that would be evaluated as arithmetic", value);
    }

    /// Notes a substitution that an assigned text contains: whatever evaluates it later would run
    /// it.
    pub(super) fn note_code(&mut self, value: &Variable) {
        if let Variable::Scalar(values) | Variable::Array(values) = value {
            self.has_quoted_code |= values.iter().any(holds_code);
        }
    }

    /// Judges a variable name that is known only as a value: its subscript is evaluated.
    pub(super) fn judge_variable_name(&mut self, name: &PartialWord) {
        if is_evaluated(name.as_str()) {
            self.report_not_understood("a subscript that would be expanded again", name.as_str());
        }
    }
}

/// Whether a text contains a substitution.
pub(super) fn holds_code(text: &PartialWord) -> bool {
    text.as_str().contains("$(") || text.as_str().contains("${") || text.as_str().contains('`')
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
