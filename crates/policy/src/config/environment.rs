//! The environment layer: `PICOCLAW_*` variables override every other layer.
//!
//! A variable is checked like the key it sets, applies without a file too (W82), and is never
//! written to one (W83).

use super::check::Checker;
use super::document::{Node, Origin, Source, Value, is_number, parse};
use super::fault::{Fault, Problem, SourceLocation};
use super::schema::{Shape, Variable, all_variables, find_variable};
use super::secret::names_a_secret;
use super::suggest::nearest;
use std::rc::Rc;

/// Applies the variables to `root`, and returns the secrets among those that set nothing here.
pub(crate) fn apply(
    root: &mut Node,
    variables: &[(String, String)],
    checker: &mut Checker<'_>,
) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut sorted: Vec<_> = variables.iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    // Sorted: of two names for one key, the documented short one comes last and wins.
    sorted.sort();
    for (name, value) in sorted {
        let origin = Origin::Variable(Rc::from(name.as_str()));
        match find_variable(name) {
            Variable::Sets(path, key) => {
                let mut at = path.join(".");
                let Some(mut node) = value_of(name, value.trim(), &key.shape, &at, checker) else { continue };
                checker.check_value(&mut node, &key.shape, &mut at);
                if let Some(slot) = path.iter().try_fold(&mut *root, |node, step| node.slot(step, &origin)) {
                    *slot = node;
                }
            }
            Variable::Foreign(what) => {
                checker.report_notice(
                    &origin,
                    format!("a setting of PicoClaw that is not served here ({what})"),
                );
                secrets.extend(names_a_secret(name).then(|| value.clone()));
            }
            Variable::Elsewhere => secrets.extend(names_a_secret(name).then(|| value.clone())),
            Variable::Unknown => {
                let known = all_variables();
                let near = nearest(name, known.iter().map(String::as_str));
                let near =
                    near.map_or_else(String::new, |(near, _)| format!("; the nearest known one is `{near}`"));
                checker.report_notice(&origin, format!("this variable is not known and does nothing{near}"));
                secrets.extend(names_a_secret(name).then(|| value.clone()));
            }
        }
    }
    secrets
}

/// The value of a variable as a tree, or a fault.
fn value_of(name: &str, value: &str, shape: &Shape, key: &str, checker: &mut Checker<'_>) -> Option<Node> {
    let origin = Origin::Variable(Rc::from(name));
    let plain = |value: Value| Some(Node::new(value, origin.clone()));
    match shape {
        Shape::Flag => match value.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" => plain(Value::Flag(true)),
            "false" | "f" | "0" => plain(Value::Flag(false)),
            _ => {
                checker.report_wrong_type(
                    &origin,
                    key,
                    "true or false",
                    &format!("`{value}`"),
                    "write `true` or `false`",
                );
                None
            }
        },
        Shape::FlagOrChoice(_) => match value.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" => plain(Value::Flag(true)),
            "false" | "f" | "0" => plain(Value::Flag(false)),
            _ => plain(Value::Text(value.to_owned())),
        },
        Shape::Whole(..) | Shape::Number(..) => {
            // As in the original, a plus sign or a leading zero is accepted.
            if let Ok(whole) = value.parse::<i64>() {
                return plain(Value::Number(whole.to_string()));
            }
            if is_number(value) {
                return plain(Value::Number(value.to_owned()));
            }
            checker.report_wrong_type(&origin, key, "a number", &format!("`{value}`"), "write digits alone");
            None
        }
        Shape::List(inner) if !value.starts_with('[') => {
            if matches!(inner, Shape::Section(_)) {
                checker.report_wrong_type(&origin, key, "a JSON array", "something else", "begin with `[`");
                return None;
            }
            let items = value.split(',').map(str::trim).filter(|item| !item.is_empty());
            plain(Value::List(
                items.map(|item| Node::new(Value::Text(item.to_owned()), origin.clone())).collect(),
            ))
        }
        Shape::List(_) | Shape::Map(_) | Shape::Environment | Shape::Section(_) | Shape::Any => {
            json(name, value, key, checker)
        }
        Shape::ChoiceOr(..) | Shape::TextOr(_) if value.starts_with('{') => json(name, value, key, checker),
        _ => plain(Value::Text(value.to_owned())),
    }
}

fn json(name: &str, value: &str, key: &str, checker: &mut Checker<'_>) -> Option<Node> {
    let parsed = parse(value, Source::Variable(Rc::from(name)));
    for error in parsed.errors {
        // A path inside the value, such as `[2]`, locates the error.
        let key = format!("{key}{}", if error.key.starts_with('[') { error.key.as_str() } else { "" });
        checker.faults.push(Fault {
            location: SourceLocation::Variable(name.to_owned()),
            key,
            problem: error.problem,
            hint: error.hint,
        });
    }
    if parsed.root.is_none() && checker.faults.is_empty() {
        let problem = Problem::EndOfText;
        checker.faults.push(Fault {
            location: SourceLocation::Variable(name.to_owned()),
            key: key.to_owned(),
            problem,
            hint: String::new(),
        });
    }
    parsed.root
}
