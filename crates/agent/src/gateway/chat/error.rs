//! Errors as clients of OpenAI's protocol read them.
//!
//! Invariant: every error below `/v1` is one object under `error`.

use crate::gateway::answer::{self, Answer};
use crate::providers::ErrorClass;
use crate::run::TurnError;
use crate::sessions::SessionError;
use http::StatusCode;
use serde_json::{Value, json};

/// An error.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    status: StatusCode,
    message: String,
    kind: &'static str,
    param: Option<&'static str>,
    code: Option<&'static str>,
}

impl Fault {
    /// The request is not one that can be answered.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            kind: "invalid_request_error",
            param: Some(param),
            code: None,
        }
    }

    /// There is no such agent.
    pub(super) fn no_model(name: &str) -> Self {
        let shown: String = name.chars().take(80).collect();
        let shown = picoclaw_sandbox::printable(&shown).into_owned();
        Self {
            status: StatusCode::NOT_FOUND,
            message: format!("The model `{shown}` does not exist: each agent of the configuration is one"),
            kind: "invalid_request_error",
            param: Some("model"),
            code: Some("model_not_found"),
        }
    }

    /// The gateway ends.
    pub(super) fn ending() -> Self {
        Self::server(StatusCode::SERVICE_UNAVAILABLE, "the gateway ends")
    }

    /// A body that cannot be read.
    pub(super) fn unread(status: StatusCode, message: &str) -> Self {
        Self { status, message: message.to_owned(), kind: "invalid_request_error", param: None, code: None }
    }

    fn server(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), kind: "server_error", param: None, code: None }
    }

    /// The object.
    pub(super) fn object(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})
    }

    /// The answer.
    pub(super) fn answer(&self) -> Answer {
        answer::json(self.status, &self.object())
    }
}

impl From<&TurnError> for Fault {
    fn from(why: &TurnError) -> Self {
        let status = match why {
            TurnError::NoAgent(agent) => return Self::no_model(agent.as_str()),
            TurnError::Provider(fault) if fault.class == ErrorClass::RateLimit => {
                StatusCode::TOO_MANY_REQUESTS
            }
            TurnError::Provider(_) => StatusCode::BAD_GATEWAY,
            TurnError::Session(SessionError::Busy { .. }) => StatusCode::CONFLICT,
            TurnError::TooLong => return Self::invalid("messages", why.to_string()),
            TurnError::Halted => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::server(status, why.to_string())
    }
}

/// A path below `/v1` that is not served.
pub(in crate::gateway) fn not_found() -> Answer {
    Fault::unread(
        StatusCode::NOT_FOUND,
        "there is no such path; served are /v1/models and /v1/chat/completions",
    )
    .answer()
}
