//! Subagents in the trace: one line per start, call and end, each beginning with the subagent's
//! name.

use super::trace::{CallTrace, Quote, format_duration};
use crate::style::{Mark, Style, Tone};
use crate::units::format_seconds;
use picoclaw_agent::run::{Ask, Event};
use picoclaw_agent::run::{SubagentEvent, SubagentInfo};
use picoclaw_sandbox::printable;
use std::collections::{BTreeMap, BTreeSet};

/// The subagents of a turn.
#[derive(Default)]
pub(super) struct Subagents {
    running: BTreeSet<String>,
    /// Their calls, by subagent and call.
    calls: BTreeMap<(String, String), CallTrace>,
}

/// The output for an event.
pub(super) enum SubagentOutput {
    Nothing,
    Line(String),
    /// A question, and the line that names the subagent.
    Ask(String, Box<Ask>),
}

impl Subagents {
    /// Handles an event.
    pub(super) fn on_event(
        &mut self,
        who: SubagentInfo,
        what: SubagentEvent,
        style: &Style,
        width: usize,
    ) -> SubagentOutput {
        let name = format!("{}{}", "  ".repeat(who.depth as usize), name_of(&who));
        let fit = |text: &str| style.fit(text, width);
        let quiet = |text: String| SubagentOutput::Line(style.paint(Tone::Quiet, &fit(&text)));
        match what {
            SubagentEvent::Began { task } => {
                self.running.insert(who.id.clone());
                quiet(format!("{name} starts as {}: {}", who.agent, printable(&task)))
            }
            SubagentEvent::Delivered => SubagentOutput::Nothing,
            SubagentEvent::Ended { result, took } => {
                self.running.remove(&who.id);
                self.calls.retain(|(id, _), _| *id != who.id);
                let (mark, tone, how) = match &result {
                    Ok(_) => (Mark::Done, Tone::Good, "is done".to_owned()),
                    Err(why) => (Mark::No, Tone::Bad, format!("failed: {}", printable(why))),
                };
                let tail = fit(&format!("{how} {} {}", style.mark(Mark::Dot), format_duration(took)));
                let mark = style.paint(tone, style.mark(mark));
                SubagentOutput::Line(format!("{name} {mark} {}", style.paint(Tone::Quiet, &tail)))
            }
            SubagentEvent::Event(event) => match *event {
                Event::Ask(ask) => SubagentOutput::Ask(format!("{name} asks:"), Box::new(ask)),
                Event::ToolCall { id, tool, arguments } => {
                    let call = CallTrace::new(&id, &tool, &arguments);
                    self.calls.insert((who.id, id), call);
                    SubagentOutput::Nothing
                }
                Event::ToolResult { id, tool, reply, took } => {
                    let call = self.calls.remove(&(who.id, id.clone()));
                    let call = call.unwrap_or_else(|| CallTrace::new(&id, &tool, &serde_json::json!({})));
                    let room = width.saturating_sub(name.chars().count() + 1);
                    let line = call.result(&reply, took, style, room, Quote::Nothing);
                    SubagentOutput::Line(format!("{name} {line}"))
                }
                Event::Retry { why, wait } => {
                    quiet(format!("{name}: {}; trying again in {}", printable(&why), format_seconds(wait)))
                }
                Event::Notice(text) => quiet(format!("{name}: {}", printable(&text))),
                _ => SubagentOutput::Nothing,
            },
        }
    }

    /// What a turn without a running call waits for.
    pub(super) fn waiting_text(&self) -> Option<String> {
        match self.running.len() {
            0 => None,
            1 => Some("waiting for a subagent".to_owned()),
            many => Some(format!("waiting for {many} subagents")),
        }
    }
}

fn name_of(who: &SubagentInfo) -> String {
    let label = printable(&who.label);
    if who.label == who.id { label.into_owned() } else { format!("{label} ({})", who.id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Liveness;
    use picoclaw_agent::call::Reply;
    use picoclaw_policy::AgentId;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn a_subagent_is_told_in_a_few_lines_under_its_name() {
        let style = Style::of_environment(|_| Some("C.UTF-8".to_owned()), Liveness::Still);
        let who = SubagentInfo {
            id: "subagent-1".to_owned(),
            label: "count\u{1b}[2J".to_owned(),
            agent: AgentId::main(),
            depth: 1,
        };
        let took = Duration::from_millis(12);
        let call = |event| SubagentEvent::Event(Box::new(event));
        let (id, tool) = ("c1".to_owned(), "exec".to_owned());
        let mut subagents = Subagents::default();
        for (why, what, want, waits) in [
            (
                "it starts",
                SubagentEvent::Began { task: "ls\nall".to_owned() },
                "  count\\u{1b}[2J (subagent-1) starts as main: ls\\nall",
                true,
            ),
            (
                "a call begins",
                call(Event::ToolCall {
                    id: id.clone(),
                    tool: tool.clone(),
                    arguments: json!({"command": "ls"}),
                }),
                "",
                true,
            ),
            (
                "and ends",
                call(Event::ToolResult { id, tool, reply: Reply::Done("a\n".to_owned()), took }),
                "  count\\u{1b}[2J (subagent-1) ✓ exec ls · allowed · 12 ms",
                true,
            ),
            (
                "it fails",
                SubagentEvent::Ended { result: Err("no \u{7}model".to_owned()), took },
                "  count\\u{1b}[2J (subagent-1) ✗ failed: no \\u{7}model · 12 ms",
                false,
            ),
        ] {
            let line = match subagents.on_event(who.clone(), what, &style, 100) {
                SubagentOutput::Line(line) => line,
                SubagentOutput::Nothing | SubagentOutput::Ask(..) => String::new(),
            };
            assert_eq!((line.as_str(), subagents.waiting_text().is_some()), (want, waits), "{why}");
        }
    }
}
