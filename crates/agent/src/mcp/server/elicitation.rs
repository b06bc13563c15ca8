//! Asks the client's user for approval, in the way of the negotiated revision. Only an explicit yes
//! approves.

use crate::tools::PendingCall;
use picoclaw_sandbox::permit::Approval;
use picoclaw_sandbox::printable_lines;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde_json::{Value, json};
use std::time::Duration;

/// How long the user has to answer.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The key of the answer in a retry.
const INPUT_KEY: &str = "approval";

/// The approver's name in the ledger.
pub(super) const APPROVER: &str = "the mcp client";

/// How the client can ask its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalChannel {
    /// By an elicitation request.
    Elicitation,
    /// By a result that requires input; the client retries the call with the answer.
    Retry,
    /// Not at all.
    Unavailable,
}

impl ApprovalChannel {
    /// The channel that the client of this request supports.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let capability = context.client_capabilities().and_then(|offers| offers.elicitation);
        // An empty capability includes forms; one with URLs only does not.
        if !capability.is_some_and(|offer| offer.form.is_some() || offer.url.is_none()) {
            return Self::Unavailable;
        }
        match context.protocol_version() {
            Some(version) if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() => Self::Retry,
            Some(version) if version.as_str() >= ProtocolVersion::V_2025_06_18.as_str() => Self::Elicitation,
            _ => Self::Unavailable,
        }
    }
}

/// Sends an elicitation request and waits for the answer; `None` without one.
pub(super) async fn elicit(
    form: ElicitRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Approval> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
    let handle = context.peer.send_request_with_option(request, options).await.ok()?;
    tokio::select! {
        response = handle.await_response() => match response.ok()? {
            ClientResult::ElicitResult(result) => Some(parse_answer(&result)),
            _ => None,
        },
        () = context.ct.cancelled() => None,
    }
}

/// The result that requires input, to be retried with this ticket.
pub(super) fn input_required(asked: &PendingCall, ticket: String) -> Option<InputRequiredResult> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(asked)?));
    let requests = InputRequests::from([(INPUT_KEY.to_owned(), request)]);
    Some(InputRequiredResult::new(Some(requests), Some(ticket)))
}

/// The answer that a retry carries.
pub(super) fn answer_of_retry(responses: Option<&InputResponses>) -> Approval {
    let result = responses.and_then(|responses| responses.get(INPUT_KEY));
    let result = result.and_then(|value| serde_json::from_value::<ElicitResult>(value.clone()).ok());
    result.as_ref().map_or(Approval::No, parse_answer)
}

fn parse_answer(result: &ElicitResult) -> Approval {
    let answer = result.content.as_ref().and_then(|content| content.get("answer")).and_then(Value::as_str);
    match (&result.action, answer) {
        (ElicitationAction::Accept, Some("once")) => Approval::Once,
        (ElicitationAction::Accept, Some("session")) => Approval::Session,
        _ => Approval::No,
    }
}

/// The form: the whole action, the reason, and the possible answers.
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
            ("once", json!({"action": "accept", "content": {"answer": "once"}}), Approval::Once),
            ("session", json!({"action": "accept", "content": {"answer": "session"}}), Approval::Session),
            ("no", json!({"action": "accept", "content": {"answer": "no"}}), Approval::No),
            ("declined", json!({"action": "decline", "content": {"answer": "once"}}), Approval::No),
            ("cancelled", json!({"action": "cancel"}), Approval::No),
            ("accepted without a word", json!({"action": "accept"}), Approval::No),
            ("another word", json!({"action": "accept", "content": {"answer": "yes"}}), Approval::No),
            ("no result", json!({"x": 1}), Approval::No),
        ] {
            let responses = InputResponses::from([(INPUT_KEY.to_owned(), result)]);
            assert_eq!(answer_of_retry(Some(&responses)), want, "{why}");
        }
        assert_eq!(answer_of_retry(None), Approval::No, "nothing came");
    }
}
