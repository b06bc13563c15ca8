//! Arithmetic: expressions that run commands, and assign.
//!
//! Invariant: a variable whose value would be evaluated again, substitutions included, is refused.

use super::field::{Field, NAME};
use super::state::{State, Variable};
use super::walk::Walker;
use crate::shell::word::Arithmetic;
use std::rc::Rc;

impl Walker<'_> {
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
                Some(Variable::Scalar(values) | Variable::Array(values)) => {
                    values.iter().any(|value| value.as_str().contains(['$', '`', '[']))
                }
                _ => false,
            };
            if hidden {
                self.not_understood("a variable whose value would be evaluated as arithmetic", name);
            }
            let rest = rest.trim_start();
            let assigns = rest.starts_with("++") || rest.starts_with("--") || is_assignment(rest);
            if assigns {
                Rc::make_mut(state).set(name, vec![Field::gap(NAME)]);
            }
        }
    }
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
