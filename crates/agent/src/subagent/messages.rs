//! The messages to and about subagents.

use crate::providers::ProviderKind;
use picoclaw_policy::Subject;
use picoclaw_sandbox::shortened;

/// The part of a task that a status line shows, in characters.
const MAX_TASK_CHARS: usize = 60;

/// The first message of a subagent. The direct provider gets the bare task: it is the call.
pub(super) fn task(task: &str, parent: &Subject, kind: ProviderKind) -> String {
    match kind {
        ProviderKind::Direct => task.to_owned(),
        ProviderKind::Model => format!(
            "You are a spawned subagent of the agent `{}`. Work on the task below by yourself, with the tools you have; your questions cannot be answered. Your last message is the result: it goes to the agent that started you.\n\nTask: {task}",
            parent.agent
        ),
    }
}

/// The reply to `spawn`.
pub(super) fn spawned(label: &str, task: &str) -> String {
    match label {
        "" => format!("Spawned subagent for task: {task}"),
        label => format!("Spawned subagent '{label}' for task: {task}"),
    }
}

/// The beginning of a text, on one line.
pub(super) fn first_words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, MAX_TASK_CHARS).into_owned()
}
