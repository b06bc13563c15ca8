//! What subagents are told, and what is told about them.
//!
//! Invariant: a sentence that others match on stands here, once, to the letter.

use super::news::Who;
use crate::providers::ProviderKind;
use picoclaw_policy::Subject;

/// The first words of a task, for a line.
const BRIEF: usize = 60;

/// A task as the subagent's model gets it. What asks no model gets the bare words: they are its call.
pub(super) fn task(task: &str, parent: &Subject, kind: ProviderKind) -> String {
    match kind {
        ProviderKind::Direct => task.to_owned(),
        ProviderKind::Model => format!(
            "You are a spawned subagent of the agent `{}`. Work on the task below by yourself, with the tools you have; nobody can answer questions of yours. Your last message is the result: it goes to the agent that started you.\n\nTask: {task}",
            parent.agent
        ),
    }
}

/// The answer to `spawn`.
pub(super) fn spawned(label: &str, task: &str) -> String {
    match label {
        "" => format!("Spawned subagent for task: {task}"),
        label => format!("Spawned subagent '{label}' for task: {task}"),
    }
}

/// The result of a background subagent, for its parent's model.
pub(super) fn result(who: &Who, result: &Result<String, String>) -> String {
    let name = if who.label == who.id { who.id.clone() } else { format!("'{}', {}", who.label, who.id) };
    match result {
        Ok(answer) => format!("[SubTurn Result] {}\n(subagent {name})", answer.trim_end()),
        Err(why) => format!("[SubTurn Result] Error: {why}\n(subagent {name})"),
    }
}

/// The beginning of a text, on one line.
pub(super) fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(BRIEF) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
