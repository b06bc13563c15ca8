//! Putting a question to the person at the client, in the form that the client's revision has for it.
//!
//! Invariant: only an explicit yes is a yes; a client that offers no form is nobody to ask.

use crate::tools::PendingCall;
use picoclaw_sandbox::approver::Answer;
use picoclaw_sandbox::printable_lines;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a person has.
pub(super) const TIME: Duration = Duration::from_secs(60);

/// The name under which an answer comes back.
const KEY: &str = "approval";

/// Who said it, as the ledger names them.
pub(super) const BY: &str = "the mcp client";

/// How this client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A request of ours, which it answers.
    Elicitation,
    /// A result that wants input; it calls again with the answer.
    Retry,
    /// Not at all.
    Nobody,
}

impl Way {
    /// What the client of this request offers.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let offered = context.client_capabilities().and_then(|offers| offers.elicitation);
        // An empty declaration means forms; one that names URLs alone does not.
        if !offered.is_some_and(|offer| offer.form.is_some() || offer.url.is_none()) {
            return Self::Nobody;
        }
        match context.protocol_version() {
            Some(version) if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() => Self::Retry,
            Some(version) if version.as_str() >= ProtocolVersion::V_2025_06_18.as_str() => Self::Elicitation,
            _ => Self::Nobody,
        }
    }
}

/// Asks now, and waits for the answer: `None` when nobody could be asked.
pub(super) async fn elicit(
    form: ElicitRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Answer> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(TIME);
    let handle = context.peer.send_request_with_option(request, options).await.ok()?;
    tokio::select! {
        answered = handle.await_response() => match answered.ok()? {
            ClientResult::ElicitResult(result) => Some(meaning(&result)),
            _ => None,
        },
        () = context.ct.cancelled() => None,
    }
}

/// The result that asks for input, to be tried again with this ticket.
pub(super) fn input_required(asked: &PendingCall, ticket: String) -> Option<InputRequiredResult> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(asked)?));
    let requests = InputRequests::from([(KEY.to_owned(), request)]);
    Some(InputRequiredResult::new(Some(requests), Some(ticket)))
}

/// What a retry brought.
pub(super) fn brought(responses: Option<&InputResponses>) -> Answer {
    let result = responses.and_then(|responses| responses.get(KEY));
    let result = result.and_then(|value| serde_json::from_value::<ElicitResult>(value.clone()).ok());
    result.as_ref().map_or(Answer::No, meaning)
}

fn meaning(result: &ElicitResult) -> Answer {
    let said = result.content.as_ref().and_then(|content| content.get("answer")).and_then(Value::as_str);
    match (&result.action, said) {
        (ElicitationAction::Accept, Some("once")) => Answer::Once,
        (ElicitationAction::Accept, Some("session")) => Answer::Session,
        _ => Answer::No,
    }
}

/// What the person is shown: all of what would be done, and the answers there are.
pub(super) fn form(asked: &PendingCall) -> Option<ElicitRequestParams> {
    let question = asked.question();
    let message = format!(
        "`{}` wants to do what the policy blocks:\n\n{}\n\n{} (rule: {})",
        asked.tool(),
        question.text,
        question.refusal.sentence,
        question.refusal.rule
    );
    let schema: ElicitationSchema = serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Allow it?",
                "description": "`once` for this one time, `session` for the same again until the session ends, `no` to refuse",
                "enum": ["once", "session", "no"],
            },
        },
        "required": ["answer"],
    }))
    .ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: printable_lines(&message).into_owned(),
        requested_schema: schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_yes_is_a_yes() {
        for (why, result, want) in [
            ("once", json!({"action": "accept", "content": {"answer": "once"}}), Answer::Once),
            ("session", json!({"action": "accept", "content": {"answer": "session"}}), Answer::Session),
            ("no", json!({"action": "accept", "content": {"answer": "no"}}), Answer::No),
            ("declined", json!({"action": "decline", "content": {"answer": "once"}}), Answer::No),
            ("cancelled", json!({"action": "cancel"}), Answer::No),
            ("accepted without a word", json!({"action": "accept"}), Answer::No),
            ("another word", json!({"action": "accept", "content": {"answer": "yes"}}), Answer::No),
            ("no result", json!({"x": 1}), Answer::No),
        ] {
            let responses = InputResponses::from([(KEY.to_owned(), result)]);
            assert_eq!(brought(Some(&responses)), want, "{why}");
        }
        assert_eq!(brought(None), Answer::No, "nothing came");
    }
}
