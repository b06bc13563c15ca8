//! Checks of scalar values.

use super::check::Checker;
use super::document::{Node, Origin, Value};
use super::fault::Problem;
use super::schema::Shape;
use super::suggest::nearest;
use crate::network::{HostPattern, Network};
use crate::path::{CleanPath, HOW_TO_BEGIN};
use crate::path_rules::compile_pattern;
use std::path::{Component, Path};

/// The kernel's limit on a path.
const MAX_PATH_LEN: usize = 4095;

impl Checker<'_> {
    /// Checks a scalar.
    pub(crate) fn check_scalar(&mut self, node: &mut Node, shape: &'static Shape, path: &str) {
        match shape {
            Shape::Flag => self.check_flag(node, path),
            Shape::FlagOrChoice(words) => self.check_flag_or_choice(node, words, path),
            Shape::Whole(least, most) => self.check_integer(node, *least, *most, path),
            Shape::Number(least, most) => self.check_number(node, *least, *most, path),
            Shape::Toolchains => self.check_toolchains(node, path),
            _ => self.check_text(node, shape, path),
        }
    }

    fn check_flag(&mut self, node: &Node, path: &str) {
        if !matches!(node.value, Value::Flag(_)) {
            let hint = match node.text() {
                Some("true" | "false") => "write it without quotes",
                _ => "write `true` or `false`",
            };
            self.report_wrong_type(&node.origin, path, "true or false", node.kind(), hint);
        }
    }

    /// A flag becomes the word that it stands for.
    fn check_flag_or_choice(&mut self, node: &mut Node, words: &'static [&'static str], path: &str) {
        let word = match (&node.value, words) {
            (Value::Flag(true), [first, ..]) => first,
            (Value::Flag(false), [.., last]) => last,
            _ => match node.text() {
                Some(text) if words.contains(&text) => return,
                Some(text) => return self.report_unknown_word(&node.origin, text, words, path),
                None => {
                    return self.report_wrong_type(
                        &node.origin,
                        path,
                        "a string",
                        node.kind(),
                        "put `\"` around it",
                    );
                }
            },
        };
        node.value = Value::Text((*word).to_owned());
    }

    fn check_integer(&mut self, node: &Node, least: i64, most: i64, path: &str) {
        let Value::Number(text) = &node.value else {
            return self.report_wrong_type(
                &node.origin,
                path,
                "a whole number",
                node.kind(),
                "write digits, without quotes",
            );
        };
        if text.contains(['.', 'e', 'E']) {
            return self.report_wrong_type(
                &node.origin,
                path,
                "a whole number",
                "a fraction or an exponent",
                "write digits alone",
            );
        }
        if !text.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number)) {
            let problem = Problem::OutOfRange { least: least.to_string(), most: most.to_string() };
            self.report(&node.origin, path, problem, "take a number between the two");
        }
    }

    fn check_number(&mut self, node: &Node, least: f64, most: f64, path: &str) {
        let Value::Number(text) = &node.value else {
            return self.report_wrong_type(
                &node.origin,
                path,
                "a number",
                node.kind(),
                "write digits, without quotes",
            );
        };
        if !text.parse::<f64>().is_ok_and(|number| (least..=most).contains(&number)) {
            let problem = Problem::OutOfRange { least: least.to_string(), most: most.to_string() };
            self.report(&node.origin, path, problem, "take a number between the two");
        }
    }

    fn check_text(&mut self, node: &mut Node, shape: &'static Shape, path: &str) {
        let Some(text) = node.text() else {
            return self.report_wrong_type(&node.origin, path, "a string", node.kind(), "put `\"` around it");
        };
        match shape {
            Shape::Choice(words) => self.check_choice(node, words, path),
            Shape::Word(words) => self.check_word(node, words, path),
            Shape::Pattern => self.check_pattern(&node.origin, text, path),
            Shape::Path | Shape::Program => self.check_path(node, shape, path),
            Shape::Variable if !is_variable(text) => {
                let problem = Problem::Refused("this is not a valid variable name".to_owned());
                self.report(&node.origin, path, problem, "letters, digits and `_`, as in `JAVA_HOME`");
            }
            Shape::Network => self.check_network(&node.origin, text, path),
            Shape::Host => self.check_host(&node.origin, text, path),
            Shape::Address => self.check_control(&node.origin, text, "an address", path),
            _ => {}
        }
    }

    fn check_network(&mut self, origin: &Origin, text: &str, path: &str) {
        if let Err(why) = text.parse::<Network>() {
            let problem = Problem::Refused(why.to_string());
            self.report(origin, path, problem, "names are not taken, since what they stand for changes");
        }
    }

    fn check_host(&mut self, origin: &Origin, text: &str, path: &str) {
        if let Err(why) = text.parse::<HostPattern>() {
            let hint = "such as `api.example.com`, `*.example.org`, `git.example.net:22` or `localhost:5432`";
            self.report(origin, path, Problem::Refused(why.to_string()), hint);
        }
    }

    /// Reports a word that is none of these.
    pub(crate) fn check_choice(&mut self, node: &Node, words: &'static [&'static str], path: &str) {
        if let Some(text) = node.text().filter(|text| !words.contains(text)) {
            self.report_unknown_word(&node.origin, text, words, path);
        }
    }

    fn check_word(&mut self, node: &mut Node, words: &'static [&'static str], path: &str) {
        let lower = node.text().unwrap_or("").trim().to_ascii_lowercase();
        if lower.is_empty() {
            node.value = Value::Null;
        } else if words.contains(&lower.as_str()) {
            node.value = Value::Text(lower);
        } else {
            self.report_unknown_word(&node.origin, &lower, words, path);
        }
    }

    fn report_unknown_word(&mut self, origin: &Origin, found: &str, words: &[&str], path: &str) {
        let known: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
        let hint = nearest(found, known.iter().copied()).map(|(near, _)| format!("did you mean `{near}`?"));
        let known = known.into_iter().map(str::to_owned).collect();
        self.report(
            origin,
            path,
            Problem::NotOneOf { found: found.to_owned(), known },
            hint.unwrap_or_default(),
        );
    }

    fn check_pattern(&mut self, origin: &Origin, text: &str, path: &str) {
        if self.report_control(origin, text, "a pattern", path) {
            return;
        }
        if text.is_empty() {
            let problem = Problem::Refused("an empty pattern matches everything".to_owned());
            return self.report(origin, path, problem, "remove it, or say what it should match");
        }
        if let Err(fault) = compile_pattern(text) {
            self.report(
                origin,
                path,
                Problem::BadPattern(fault.why),
                "patterns are RE2's: no look-around, no back-references",
            );
        }
    }

    fn check_path(&mut self, node: &mut Node, shape: &Shape, key: &str) {
        let text = node.text().unwrap_or("").to_owned();
        if text.trim().is_empty() {
            node.value = Value::Null;
            return;
        }
        if self.report_control(&node.origin, &text, "a path", key) {
            return;
        }
        match expand_tilde(&text, self.user_home) {
            Err((problem, hint)) => self.report(&node.origin, key, Problem::Refused(problem), hint),
            Ok(path) => {
                if matches!(shape, Shape::Path)
                    && let Err((problem, hint)) = check_absolute(&path)
                {
                    self.report(&node.origin, key, Problem::Refused(problem), hint);
                }
                node.value = Value::Text(path);
            }
        }
    }

    fn check_toolchains(&mut self, node: &mut Node, path: &str) {
        let names: Option<Vec<&str>> = match &node.value {
            Value::Text(text) => Some(text.split(',').map(str::trim).collect()),
            Value::List(items) => items.iter().map(Node::text).collect(),
            _ => None,
        };
        let Some(names) = names else {
            return self.report_wrong_type(
                &node.origin,
                path,
                "a string",
                node.kind(),
                "write `auto`, `none`, or names",
            );
        };
        let plain = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-_.".contains(&b))
        };
        if names.iter().all(plain)
            && (names.len() == 1 || !names.iter().any(|n| matches!(*n, "auto" | "none")))
        {
            node.value = Value::Text(names.join(","));
        } else {
            let problem = Problem::Refused("these are not toolchains".to_owned());
            self.report(&node.origin, path, problem, "write `auto`, `none`, or names such as `rust,node`");
        }
    }

    fn check_control(&mut self, origin: &Origin, text: &str, what: &'static str, path: &str) {
        self.report_control(origin, text, what, path);
    }

    /// Reports a control character in `text`, and whether there was one.
    fn report_control(&mut self, origin: &Origin, text: &str, what: &'static str, path: &str) -> bool {
        let Some(control) = text.chars().find(|c| c.is_control()) else { return false };
        let escape = match origin {
            Origin::File(at) => self.controls.iter().find(|control| control.string == *at),
            _ => None,
        };
        let at = escape.map_or_else(|| origin.clone(), |escape| Origin::File(escape.at));
        let spelling = escape.map_or_else(|| escape_of(control), |escape| escape.spelling.clone());
        let problem = Problem::ControlCharacter { code: control.into(), what };
        self.report(&at, path, problem, format!("double the backslash: `\\{spelling}`"));
        true
    }
}

/// The JSON escape of a control character.
fn escape_of(control: char) -> String {
    match control {
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        other => format!("\\u{:04x}", u32::from(other)),
    }
}

/// `text` with a leading `~` expanded.
pub(crate) fn expand_tilde(text: &str, user_home: Option<&Path>) -> Result<String, (String, &'static str)> {
    let Some(rest) = text.strip_prefix('~') else { return Ok(text.to_owned()) };
    if !rest.is_empty() && !rest.starts_with(std::path::is_separator) {
        return Err((
            "`~` followed by a name is not expanded".to_owned(),
            "write the whole path, or begin with `~/`",
        ));
    }
    match user_home.and_then(Path::to_str) {
        Some(home) => Ok(format!("{}{rest}", home.trim_end_matches(std::path::is_separator))),
        None => Err((
            "`~` stands for a home directory, and none is known".to_owned(),
            "set `HOME`, or write the whole path",
        )),
    }
}

fn check_absolute(path: &str) -> Result<(), (String, &'static str)> {
    if path.len() > MAX_PATH_LEN {
        return Err((format!("longer than {MAX_PATH_LEN} bytes"), "take a shorter path"));
    }
    if CleanPath::absolute(Path::new(path)).is_none() {
        return Err(("a relative path could mean any place".to_owned(), HOW_TO_BEGIN));
    }
    if Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Err(("`..` in a path depends on links".to_owned(), "write the path without `..`"));
    }
    Ok(())
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_are_absolute_with_a_drive() {
        for (path, is_taken) in [
            (r"C:\work", true),
            ("c:/work/project", true),
            (r"\work", false),
            ("/work", false),
            ("work", false),
            (r"C:work", false),
            (r"\\server\share", false),
            (r"C:\work\..\other", false),
            (r"C:\PROGRA~1", false),
        ] {
            assert_eq!(check_absolute(path).is_ok(), is_taken, "{path}");
        }
        let home = Some(Path::new(r"C:\Users\x\"));
        assert_eq!(expand_tilde(r"~\work", home).unwrap(), r"C:\Users\x\work");
        assert_eq!(expand_tilde("~/work", home).unwrap(), r"C:\Users\x/work");
        assert!(expand_tilde("~other", home).is_err());
    }
}
