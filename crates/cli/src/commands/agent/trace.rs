//! The trace of a turn: one line per call with its verdict, and the progress of a running call.
//! Untrusted text is escaped.

use super::sanitize_stream::sanitize;
use crate::style::{Mark, Style, Tone, wrap};
use crate::units::format_seconds;
use picoclaw_agent::call::Reply;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::printable;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::time::{Duration, Instant};

/// Number of quoted output lines.
const MAX_QUOTED_LINES: usize = 4;

/// Number of shown lines of a diff.
const MAX_DIFF_LINES: usize = 12;

/// After this time a diff is whole lines taken away and added.
const DIFF_TIMEOUT: Duration = Duration::from_millis(50);

/// A running call.
#[derive(Debug)]
pub(super) struct CallTrace {
    id: String,
    tool: String,
    brief: String,
    began: Instant,
    last_line: String,
    answered: Option<Approval>,
    /// The lines that an edit takes away and puts in their place.
    diff: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug)]
enum DiffLine {
    Removed(String),
    Added(String),
}

/// How much output is quoted below a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// The first lines.
    FirstLines,
    /// Nothing: the output is the answer itself.
    Nothing,
}

impl CallTrace {
    /// A call that begins now.
    pub(super) fn new(id: &str, tool: &str, arguments: &Value) -> Self {
        Self {
            id: id.to_owned(),
            tool: printable(tool).into_owned(),
            brief: summarize_call(tool, arguments),
            began: Instant::now(),
            last_line: String::new(),
            answered: None,
            diff: diff_lines(tool, arguments),
        }
    }

    /// Whether this is the call with that id.
    pub(super) fn is(&self, id: &str) -> bool {
        self.id == id
    }

    /// Records a line of output.
    pub(super) fn add_output(&mut self, line: &str) {
        let line = printable(line.trim_end()).into_owned();
        if !line.is_empty() {
            self.last_line = line;
        }
    }

    /// Records the answer of a person.
    pub(super) fn record_answer(&mut self, answer: Approval) {
        self.answered = Some(answer);
    }

    /// The progress, for the status line.
    pub(super) fn progress(&self, style: &Style) -> String {
        let dot = style.mark(Mark::Dot);
        let mut line = format!("{} {} {dot} {}", self.tool, self.brief, format_seconds(self.began.elapsed()));
        if !self.last_line.is_empty() {
            line.push_str(&format!(" {dot} {}", self.last_line));
        }
        line
    }

    /// The result.
    pub(super) fn result(
        &self,
        reply: &Reply,
        took: Duration,
        style: &Style,
        width: usize,
        quote: Quote,
    ) -> String {
        let (mark, tone) = match reply {
            Reply::Done(_) => (Mark::Done, Tone::Good),
            Reply::Failed(_) | Reply::Ended { .. } | Reply::Refused(_) => (Mark::No, Tone::Bad),
            Reply::NeedsApproval(_) => (Mark::Ask, Tone::Alert),
        };
        let verdict = self.verdict(reply);
        let tail = format!(
            "{} {verdict} {} {}",
            style.mark(Mark::Dot),
            style.mark(Mark::Dot),
            format_duration(took)
        );
        // What does not fit beside the call follows below it.
        let head = self.tool.chars().count() + 4;
        let beside = width.saturating_sub(head + tail.chars().count());
        let (room, tail) = match beside {
            beside if beside >= width / 3 => (beside, format!(" {}", style.paint(Tone::Quiet, &tail))),
            _ => {
                let rows = wrap(&format!("  {tail}"), width, 4);
                let rows = rows.iter().map(|row| format!("\n{}", style.paint(Tone::Quiet, row)));
                (width.saturating_sub(head), rows.collect())
            }
        };
        let mut text = format!(
            "{} {} {}{tail}",
            style.paint(tone, style.mark(mark)),
            style.paint(Tone::Strong, &self.tool),
            style.fit(&self.brief, room)
        );
        let is_edited =
            matches!(reply, Reply::Done(_)) && !self.diff.is_empty() && quote == Quote::FirstLines;
        if is_edited {
            for line in self.diff.iter().take(MAX_DIFF_LINES) {
                let (sign, tone, line) = match line {
                    DiffLine::Removed(line) => ("-", Tone::Bad, line),
                    DiffLine::Added(line) => ("+", Tone::Good, line),
                };
                text.push('\n');
                text.push_str(&style.paint(tone, &style.fit(&format!("  {sign} {line}"), width)));
            }
            if let Some(more) = self.diff.len().checked_sub(MAX_DIFF_LINES).filter(|more| *more > 0) {
                text.push_str(&format!("\n    ({more} more lines)"));
            }
            return text;
        }
        for line in quote_lines(reply, quote) {
            let line = style.fit(&format!("  {} {line}", style.mark(Mark::Edge)), width);
            text.push('\n');
            text.push_str(&style.paint(Tone::Quiet, &line));
        }
        text
    }

    /// Allowed, refused or asked, and by what.
    fn verdict(&self, reply: &Reply) -> String {
        let allowed = match self.answered {
            Some(Approval::Once) => "asked, allowed once",
            Some(Approval::Session) => "asked, allowed for this session",
            Some(Approval::Always) => "asked, allowed always",
            Some(Approval::No) | None => "allowed",
        };
        match reply {
            Reply::Done(_) => allowed.to_owned(),
            Reply::Failed(why) => {
                let sentence = why.lines().next().unwrap_or_default();
                format!("{allowed}, failed: {}", printable(sentence))
            }
            Reply::Ended { how, .. } => {
                format!("{allowed}, {}", printable(how.strip_prefix("Command ").unwrap_or(how)))
            }
            Reply::Refused(no) if self.answered.is_some() => {
                format!("asked, refused by you ({})", printable(&no.rule))
            }
            Reply::Refused(no) => format!("refused by {} ({})", printable(&no.rule), no.layer.as_str()),
            Reply::NeedsApproval(no) => format!("refused by {}, no person to ask", printable(&no.rule)),
        }
    }
}

/// What an edit changes, as far as its arguments tell: the lines that differ between the two texts.
fn diff_lines(tool: &str, arguments: &Value) -> Vec<DiffLine> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let (old, new) = match tool {
        "edit_file" => (text("old_text").unwrap_or_default(), text("new_text").unwrap_or_default()),
        "write_file" | "append_file" => ("", text("content").unwrap_or_default()),
        _ => return Vec::new(),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_slices(&old, &new);
    let shown = |line: &str| sanitize(line).replace('\t', "    ");
    let changes = diff.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(DiffLine::Removed(shown(change.value()))),
        ChangeTag::Insert => Some(DiffLine::Added(shown(change.value()))),
    });
    changes.collect()
}

/// The first lines of the output, and how many more there are.
fn quote_lines(reply: &Reply, quote: Quote) -> Vec<String> {
    if quote == Quote::Nothing {
        return Vec::new();
    }
    let text = sanitize(&reply.text()).replace('\t', "    ");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut shown: Vec<String> = lines.iter().take(MAX_QUOTED_LINES).map(|line| (*line).to_owned()).collect();
    match lines.len().saturating_sub(MAX_QUOTED_LINES) {
        0 => {}
        1 => shown.extend(lines.get(MAX_QUOTED_LINES).map(|line| (*line).to_owned())),
        more => shown.push(format!("({more} more lines)")),
    }
    shown
}

/// The most informative argument of a call, on one line.
pub(super) fn summarize_call(tool: &str, arguments: &Value) -> String {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let said = match tool {
        "exec" => match text("action").filter(|action| *action != "run") {
            Some(action) => Some(format!("{action} {}", text("sessionId").unwrap_or_default())),
            None => text("command").map(str::to_owned),
        },
        "web_fetch" => text("url").map(str::to_owned),
        "spawn" | "subagent" => text("label").or_else(|| text("task")).map(str::to_owned),
        "delegate" => text("agent_id").map(str::to_owned),
        _ => text("path").map(str::to_owned),
    };
    let said = said.unwrap_or_else(|| match arguments.as_object() {
        Some(object) if object.is_empty() => String::new(),
        _ => arguments.to_string(),
    });
    printable(said.trim()).into_owned()
}

/// An elapsed time.
pub(super) fn format_duration(time: Duration) -> String {
    match time.as_millis() {
        0 => "< 1 ms".to_owned(),
        short @ 1..1000 => format!("{short} ms"),
        _ if time.as_secs() < 10 => format!("{:.1} s", time.as_secs_f64()),
        _ => format_seconds(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Liveness;
    use picoclaw_policy::{Code, Layer, Refusal};
    use serde_json::json;

    fn line(tool: &str, arguments: &Value, reply: &Reply, answered: Option<Approval>) -> String {
        let style = Style::of_environment(|_| Some("C.UTF-8".to_owned()), Liveness::Still);
        let mut call = CallTrace::new("1", tool, arguments);
        if let Some(answer) = answered {
            call.record_answer(answer);
        }
        call.result(reply, Duration::from_millis(12), &style, 100, Quote::FirstLines)
    }

    #[test]
    fn an_edit_shows_what_changes() {
        let edit =
            json!({"path": "a", "old_text": "same\none\nend", "new_text": "same\n1\n\u{1b}[31m2\nend"});
        let shown = line("edit_file", &edit, &Reply::Done("File edited: a".to_owned()), None);
        assert_eq!(shown, "✓ edit_file a · allowed · 12 ms\n  - one\n  + 1\n  + \\u{1b}[31m2");
        let two = json!({"path": "a", "old_text": "a\nb\nc", "new_text": "1\nb\n3\n"});
        let shown = line("edit_file", &two, &Reply::Done("File edited: a".to_owned()), None);
        assert_eq!(
            shown, "✓ edit_file a · allowed · 12 ms\n  - a\n  + 1\n  - c\n  + 3",
            "what stays in between is not shown"
        );
        let long = json!({"path": "a", "content": "x\n".repeat(20)});
        let shown = line("write_file", &long, &Reply::Done("File written: a".to_owned()), None);
        assert!(shown.lines().count() == 14 && shown.ends_with("(8 more lines)"), "{shown}");
        let failed = line("edit_file", &edit, &Reply::Failed("old_text not found in file".to_owned()), None);
        assert!(!failed.contains("- one"), "nothing was changed: {failed}");
    }

    #[test]
    fn a_call_is_one_line_with_its_verdict_and_a_few_of_output() {
        let no = Refusal {
            code: Code::DangerousCommand,
            sentence: "Command blocked by safety guard (dangerous pattern detected)".to_owned(),
            rule: "sudo".to_owned(),
            layer: Layer::Guard,
            hint: String::new(),
        };
        for (why, tool, arguments, reply, answered, want) in [
            (
                "done",
                "exec",
                json!({"command": "ls"}),
                Reply::Done("a\nb\n".to_owned()),
                None,
                "✓ exec ls · allowed · 12 ms\n  │ a\n  │ b",
            ),
            (
                "a long output is counted",
                "read_file",
                json!({"path": "x"}),
                Reply::Done("1\n2\n3\n4\n5\n6\n".to_owned()),
                None,
                "✓ read_file x · allowed · 12 ms\n  │ 1\n  │ 2\n  │ 3\n  │ 4\n  │ (2 more lines)",
            ),
            (
                "refused",
                "exec",
                json!({"command": "sudo ls"}),
                Reply::Refused(no.clone()),
                None,
                "✗ exec sudo ls · refused by sudo (guard) · 12 ms\n  │ Command blocked by safety guard (dangerous pattern detected)",
            ),
            (
                "asked and allowed",
                "exec",
                json!({"command": "git push"}),
                Reply::Done(String::new()),
                Some(Approval::Once),
                "✓ exec git push · asked, allowed once · 12 ms",
            ),
            (
                "what others wrote moves nothing",
                "exec\u{1b}[2J",
                json!({"command": "\u{1b}[31m\nrm"}),
                Reply::Done("\u{1b}]0;x\u{7}".to_owned()),
                None,
                "✓ exec\\u{1b}[2J {\"command\":\"\\u001b[31m\\nrm\"} · allowed · 12 ms\n  │ \\u{1b}]0;x\\u{7}",
            ),
        ] {
            assert_eq!(line(tool, &arguments, &reply, answered), want, "{why}");
        }
    }

    #[test]
    fn a_call_is_told_by_the_argument_that_says_most() {
        for (tool, arguments, want) in [
            ("exec", json!({"command": "ls\nrm"}), "ls\\nrm"),
            ("exec", json!({"action": "poll", "sessionId": "ab"}), "poll ab"),
            ("list_dir", json!({}), ""),
            ("unknown", json!({"a": 1}), r#"{"a":1}"#),
            ("read_file", Value::Null, "null"),
        ] {
            assert_eq!(summarize_call(tool, &arguments), want, "{tool}");
        }
    }
}
