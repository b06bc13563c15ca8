//! A question to a person as lines: the whole act, in characters that cannot be mistaken.
//!
//! Every line of untrusted text begins with `| `, so that no text can imitate a line of the
//! question itself.

use picoclaw_policy::Question;
use picoclaw_sandbox::act::Act;
use picoclaw_sandbox::{printable_lines, unambiguous};
use serde_json::Value;

/// The longest argument that is shown whole, in characters; of a longer one beginning and end are
/// shown.
const MAX_SHOWN: usize = 16 << 10;

/// How much of its beginning and of its end.
const HEAD: usize = 8 << 10;
const TAIL: usize = 4 << 10;

/// The longest reason, in characters.
const MAX_REASON: usize = 2000;

/// The links that are shown.
const MAX_LINKS: usize = 10;

/// The characters of an argument's name that are shown.
const MAX_NAME: usize = 80;

/// The lines of an argument that are shown.
const MAX_LINES: usize = 200;

/// What the question is about, on one line: a command, or what else the tool would do.
pub fn text(act: &Act, question: &Question) -> String {
    let command = act.arguments.get("command").and_then(Value::as_str);
    unambiguous(command.unwrap_or(&question.text))
}

/// The whole act as lines, each argument by its name.
pub fn act_lines(act: &Act) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in act.arguments.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let length = text.chars().count();
        let folded = fold(&text, length);
        let shown: Vec<&str> = folded.iter().map(String::as_str).collect();
        let size =
            if length > 80 || shown.len() > 1 { format!(" ({length} characters)") } else { String::new() };
        let name: String = name.chars().take(MAX_NAME).collect();
        lines.push(format!("{}{size}:", unambiguous(&name)));
        lines.extend(shown.iter().map(|line| format!("  | {line}")));
    }
    lines.extend(act.path.iter().map(|path| format!("path: {}", unambiguous(path))));
    lines.extend(act.links.iter().take(MAX_LINKS).map(|link| format!("link: {}", unambiguous(link))));
    if act.links.len() > MAX_LINKS {
        lines.push(format!("links that are not shown: {}", act.links.len() - MAX_LINKS));
    }
    if let Some(seconds) = act.timeout_seconds {
        let background = if act.background { "in the background" } else { "in the foreground" };
        lines.push(format!("runs: {background}, for at most {seconds} s"));
    }
    let above = match act.lineage.as_slice() {
        [] => String::new(),
        above => format!(", below {}", above.join(", ")),
    };
    lines.push(format!("agent: {}{above}; session: {}", act.agent, unambiguous(&act.session)));
    lines
}

/// The lines of a text; a long one is folded, and says how much is missing.
fn fold(text: &str, length: usize) -> Vec<String> {
    let parts = if length <= MAX_SHOWN {
        vec![text.to_owned()]
    } else {
        let head: String = text.chars().take(HEAD).collect();
        let tail: String = text.chars().skip(length - TAIL).collect();
        vec![head, tail]
    };
    let mut lines: Vec<String> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            lines.push(format!("[{} characters are not shown]", length - HEAD - TAIL));
        }
        lines.extend(part.split('\n').map(unambiguous));
    }
    if lines.len() > MAX_LINES {
        let missing = lines.len() - MAX_LINES;
        let tail = lines.split_off(lines.len() - MAX_LINES / 2);
        lines.truncate(MAX_LINES / 2);
        lines.push(format!("[{missing} lines are not shown]"));
        lines.extend(tail);
    }
    lines
}

/// A person's reason as the model is told it: bounded, without control characters; `None` for an
/// empty one.
pub fn reason(text: &str) -> Option<String> {
    let text: String = text.trim().chars().take(MAX_REASON).collect();
    (!text.is_empty()).then(|| printable_lines(&text).into_owned())
}
