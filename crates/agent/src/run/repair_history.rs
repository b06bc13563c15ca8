//! Drops from a history what providers reject: calls without results, and results without calls.
//!
//! A session has such messages after a crash in the middle of a turn, an unreadable line, or an
//! edit by hand.

use crate::message::{Message, Role};
use crate::sessions::StoredMessage;
use std::collections::BTreeSet;

/// The history without what providers reject.
pub(super) fn repair_history(history: Vec<StoredMessage>) -> Vec<StoredMessage> {
    let mut kept = Vec::with_capacity(history.len());
    let mut rest = history.into_iter().peekable();
    while let Some(stored) = rest.next() {
        match stored.message.role {
            // Instructions are made anew for each turn; a stray result has no call.
            Role::System | Role::Tool => {}
            Role::Assistant if !stored.message.tool_calls.is_empty() => {
                let mut results = Vec::new();
                while let Some(result) = rest.next_if(|next| next.message.role == Role::Tool) {
                    results.push(result);
                }
                if let Some(results) = match_results(&stored.message, results) {
                    kept.push(stored);
                    kept.extend(results);
                }
            }
            Role::Assistant | Role::User => kept.push(stored),
        }
    }
    kept
}

/// One result for each call, in the order of the calls; `None` when one is missing or ids are
/// ambiguous.
fn match_results(calling: &Message, results: Vec<StoredMessage>) -> Option<Vec<StoredMessage>> {
    let ids: BTreeSet<&str> = calling.tool_calls.iter().map(|call| call.id.as_str()).collect();
    if ids.contains("") || ids.len() != calling.tool_calls.len() {
        return None;
    }
    let mut results: Vec<Option<StoredMessage>> = results.into_iter().map(Some).collect();
    let mut take = |id: &str| {
        let found = results.iter_mut().find(|result| {
            result.as_ref().is_some_and(|stored| stored.message.tool_call_id.as_deref() == Some(id))
        });
        found.and_then(Option::take)
    };
    calling.tool_calls.iter().map(|call| take(&call.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    fn calling(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "exec".into(), arguments: "{}".into() };
        Message { tool_calls: ids.iter().map(call).collect(), ..Message::text(Role::Assistant, "") }
    }

    fn shape(history: Vec<Message>) -> String {
        let stored = history.into_iter().map(|message| StoredMessage { line: 0, message }).collect();
        let word = |stored: &StoredMessage| match stored.message.role {
            Role::System => "s".to_owned(),
            Role::User => "u".to_owned(),
            Role::Assistant if stored.message.tool_calls.is_empty() => "a".to_owned(),
            Role::Assistant => format!("c{}", stored.message.tool_calls.len()),
            Role::Tool => format!("t{}", stored.message.tool_call_id.as_deref().unwrap_or("?")),
        };
        repair_history(stored).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_no_provider_would_take_is_left_out() {
        let user = || Message::text(Role::User, "u");
        let said = || Message::text(Role::Assistant, "a");
        let result = |id: &str| Message::result(id, "r");
        for (why, history, want) in [
            ("an ordinary turn", vec![user(), calling(&["1"]), result("1"), said()], "u c1 t1 a"),
            ("instructions", vec![Message::text(Role::System, "s"), user()], "u"),
            ("killed before the result", vec![user(), calling(&["1"])], "u"),
            ("killed between two results", vec![user(), calling(&["1", "2"]), result("1"), user()], "u u"),
            ("a result of nobody's", vec![user(), result("9"), said()], "u a"),
            ("a result of another call", vec![user(), calling(&["1"]), result("2"), said()], "u a"),
            ("a result twice", vec![calling(&["1"]), result("1"), result("1"), said()], "c1 t1 a"),
            ("results in another order", vec![calling(&["1", "2"]), result("2"), result("1")], "c2 t1 t2"),
            ("calls without names", vec![user(), calling(&[""]), result(""), said()], "u a"),
            ("calls with one name", vec![user(), calling(&["1", "1"]), result("1"), result("1")], "u"),
        ] {
            assert_eq!(shape(history), want, "{why}");
        }
    }
}
