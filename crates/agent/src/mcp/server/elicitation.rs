//! Asks the client's user for approval, in the way of the negotiated revision. Only an explicit yes
//! approves.

use crate::question;
use crate::tools::PendingCall;
use picoclaw_sandbox::permit::{Answer, Approval};
use picoclaw_sandbox::{Redactor, unambiguous};
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
) -> Option<Answer> {
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
pub(super) fn input_required(form: ElicitRequestParams, ticket: String) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    let requests = InputRequests::from([(INPUT_KEY.to_owned(), request)]);
    InputRequiredResult::new(Some(requests), Some(ticket))
}

/// The answer that a retry carries.
pub(super) fn answer_of_retry(responses: Option<&InputResponses>) -> Answer {
    let result = responses.and_then(|responses| responses.get(INPUT_KEY));
    let result = result.and_then(|value| serde_json::from_value::<ElicitResult>(value.clone()).ok());
    result.as_ref().map_or_else(|| Answer::new(Approval::No, APPROVER), parse_answer)
}

fn parse_answer(result: &ElicitResult) -> Answer {
    let text =
        |name: &str| result.content.as_ref().and_then(|content| content.get(name)).and_then(Value::as_str);
    let approval = match (&result.action, text("answer")) {
        (ElicitationAction::Accept, Some("once")) => Approval::Once,
        (ElicitationAction::Accept, Some("session")) => Approval::Session,
        (ElicitationAction::Accept, Some("always")) => Approval::Always,
        _ => Approval::No,
    };
    let reason = text("reason").and_then(question::reason);
    Answer { reason: reason.filter(|_| approval == Approval::No), ..Answer::new(approval, APPROVER) }
}

/// Whether a yes can hold for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionYes {
    /// The client has a session.
    Offered,
    /// It has none: every request stands for itself.
    Unknown,
}

/// The form: the whole act, the reason, and the possible answers.
pub(super) fn form(
    asked: &PendingCall,
    session: SessionYes,
    redactor: &Redactor,
) -> Option<ElicitRequestParams> {
    let refusal = &asked.question().refusal;
    let lines = question::act_lines(asked.act()).join("\n");
    let message = format!(
        "`{}` needs your permission for:\n\n{lines}\n\nwhy: {}\nrule: {}\nthis act and no other: {}",
        unambiguous(asked.tool()),
        unambiguous(&refusal.sentence),
        unambiguous(&refusal.rule),
        asked.fingerprint().get(..12).unwrap_or_default(),
    );
    let (answers, about) = match session {
        SessionYes::Offered => (
            json!(["once", "session", "always", "no"]),
            "`once` for this one time, `session` for the same again until the session ends, `always` for the same again until it is revoked, `no` to refuse",
        ),
        SessionYes::Unknown => (
            json!(["once", "always", "no"]),
            "`once` for this one time, `always` for the same again until it is revoked, `no` to refuse",
        ),
    };
    let schema: ElicitationSchema = serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string", "title": "Allow it?", "description": about, "enum": answers},
            "reason": {"type": "string", "title": "Why not?", "description": "With `no`: what the model is told"},
        },
        "required": ["answer"],
    }))
    .ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: redactor.clean(&message).into_owned(),
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
            ("always", json!({"action": "accept", "content": {"answer": "always"}}), Approval::Always),
            ("no", json!({"action": "accept", "content": {"answer": "no"}}), Approval::No),
            ("declined", json!({"action": "decline", "content": {"answer": "once"}}), Approval::No),
            ("cancelled", json!({"action": "cancel"}), Approval::No),
            ("accepted without a word", json!({"action": "accept"}), Approval::No),
            ("another word", json!({"action": "accept", "content": {"answer": "yes"}}), Approval::No),
            ("no result", json!({"x": 1}), Approval::No),
        ] {
            let responses = InputResponses::from([(INPUT_KEY.to_owned(), result)]);
            assert_eq!(answer_of_retry(Some(&responses)), Answer::new(want, APPROVER), "{why}");
        }
        assert_eq!(answer_of_retry(None), Answer::new(Approval::No, APPROVER), "nothing came");
        let because = json!({"action": "accept", "content": {"answer": "no", "reason": "use the trash"}});
        let responses = InputResponses::from([(INPUT_KEY.to_owned(), because)]);
        assert_eq!(answer_of_retry(Some(&responses)).reason.as_deref(), Some("use the trash"));
    }
}
