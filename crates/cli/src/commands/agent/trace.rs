//! The trace of a turn: one line a call, with its verdict; what a call is up to while it runs.
//!
//! Invariant: a verdict is a word, and everything that others wrote stands on its line and acts on nothing.

use super::flow::show;
use super::style::{Mark, Style, Tone};
use picoclaw_agent::call::Reply;
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::printable;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How many lines of output are quoted.
const QUOTED: usize = 4;

/// A call that is under way.
#[derive(Debug)]
pub(super) struct Underway {
    id: String,
    tool: String,
    brief: String,
    began: Instant,
    last_line: String,
    answered: Option<Answer>,
}

/// How much of the output is quoted below a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// The first lines.
    FirstLines,
    /// Nothing: it is the answer, and comes by itself.
    Nothing,
}

impl Underway {
    /// A call that begins now.
    pub(super) fn new(id: &str, tool: &str, arguments: &Value) -> Self {
        Self {
            id: id.to_owned(),
            tool: printable(tool).into_owned(),
            brief: brief(tool, arguments),
            began: Instant::now(),
            last_line: String::new(),
            answered: None,
        }
    }

    /// Whether this is the call of that name.
    pub(super) fn is(&self, id: &str) -> bool {
        self.id == id
    }

    /// It said something.
    pub(super) fn said(&mut self, line: &str) {
        let line = printable(line.trim_end()).into_owned();
        if !line.is_empty() {
            self.last_line = line;
        }
    }

    /// A person was asked about it.
    pub(super) fn answered(&mut self, answer: Answer) {
        self.answered = Some(answer);
    }

    /// What it is up to, for a line that is drawn over.
    pub(super) fn progress(&self, style: &Style) -> String {
        let dot = style.mark(Mark::Dot);
        let mut line = format!("{} {} {dot} {}", self.tool, self.brief, seconds(self.began.elapsed()));
        if !self.last_line.is_empty() {
            line.push_str(&format!(" {dot} {}", self.last_line));
        }
        line
    }

    /// What it came to.
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
        let tail = format!("{} {verdict} {} {}", style.mark(Mark::Dot), style.mark(Mark::Dot), lasted(took));
        let room = width.saturating_sub(self.tool.len() + tail.chars().count() + 4).max(width / 3);
        let mut text = format!(
            "{} {} {} {}",
            style.paint(tone, style.mark(mark)),
            style.paint(Tone::Strong, &self.tool),
            style.fit(&self.brief, room),
            style.paint(Tone::Quiet, &tail)
        );
        for line in quoted(reply, quote) {
            let line = style.fit(&format!("  {} {line}", style.mark(Mark::Edge)), width);
            text.push('\n');
            text.push_str(&style.paint(Tone::Quiet, &line));
        }
        text
    }

    /// Allowed, refused or asked, and by what.
    fn verdict(&self, reply: &Reply) -> String {
        let allowed = match self.answered {
            Some(Answer::Once) => "asked, allowed once",
            Some(Answer::Session) => "asked, allowed for this session",
            Some(Answer::No) | None => "allowed",
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
            Reply::NeedsApproval(no) => format!("refused by {}, nobody to ask", printable(&no.rule)),
        }
    }
}

/// The first lines of what was said, and how many more there are.
fn quoted(reply: &Reply, quote: Quote) -> Vec<String> {
    if quote == Quote::Nothing {
        return Vec::new();
    }
    let text = show(&reply.text()).replace('\t', "    ");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut shown: Vec<String> = lines.iter().take(QUOTED).map(|line| (*line).to_owned()).collect();
    match lines.len().saturating_sub(QUOTED) {
        0 => {}
        1 => shown.extend(lines.get(QUOTED).map(|line| (*line).to_owned())),
        more => shown.push(format!("({more} more lines)")),
    }
    shown
}

/// The one argument that says most about a call, on one line.
pub(super) fn brief(tool: &str, arguments: &Value) -> String {
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

/// A time that is running, in whole seconds.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        short @ 0..60 => format!("{short} s"),
        long => format!("{} min {} s", long / 60, long % 60),
    }
}

/// A time that is over.
pub(super) fn lasted(time: Duration) -> String {
    match time.as_millis() {
        0 => "< 1 ms".to_owned(),
        short @ 1..1000 => format!("{short} ms"),
        _ if time.as_secs() < 10 => format!("{:.1} s", time.as_secs_f64()),
        _ => seconds(time),
    }
}

#[cfg(test)]
mod tests {
    use super::super::style::Liveness;
    use super::*;
    use picoclaw_policy::{Code, Layer, Refusal};
    use serde_json::json;

    fn line(tool: &str, arguments: &Value, reply: &Reply, answered: Option<Answer>) -> String {
        let style = Style::of_environment(|_| Some("C.UTF-8".to_owned()), Liveness::Still);
        let mut call = Underway::new("1", tool, arguments);
        if let Some(answer) = answered {
            call.answered(answer);
        }
        call.result(reply, Duration::from_millis(12), &style, 100, Quote::FirstLines)
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
                Some(Answer::Once),
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
            assert_eq!(brief(tool, &arguments), want, "{tool}");
        }
    }
}
