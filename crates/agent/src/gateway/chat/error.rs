//! Errors in the format of OpenAI's API: one object under `error`.

use crate::gateway::response::{self, HttpResponse};
use crate::providers::ErrorClass;
use crate::run::TurnError;
use crate::sessions::SessionError;
use http::StatusCode;
use picoclaw_sandbox::{first_chars, printable};
use serde_json::{Value, json};

/// An error of the chat API.
#[derive(Debug, Clone)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
    kind: &'static str,
    param: Option<&'static str>,
    code: Option<&'static str>,
}

impl ApiError {
    /// A parameter of the request is invalid.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            kind: "invalid_request_error",
            param: Some(param),
            code: None,
        }
    }

    /// No agent has this name.
    pub(super) fn no_model(name: &str) -> Self {
        let shown = printable(first_chars(name, 80));
        Self {
            status: StatusCode::NOT_FOUND,
            message: format!("The model `{shown}` does not exist: each agent of the configuration is one"),
            kind: "invalid_request_error",
            param: Some("model"),
            code: Some("model_not_found"),
        }
    }

    /// The gateway is shutting down.
    pub(super) fn shutting_down() -> Self {
        Self::server(StatusCode::SERVICE_UNAVAILABLE, "the gateway ends")
    }

    /// The body cannot be read.
    pub(super) fn bad_body(status: StatusCode, message: &str) -> Self {
        Self { status, message: message.to_owned(), kind: "invalid_request_error", param: None, code: None }
    }

    fn server(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), kind: "server_error", param: None, code: None }
    }

    /// The error object.
    pub(super) fn to_json(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})
    }

    /// The error response.
    pub(super) fn response(&self) -> HttpResponse {
        response::json(self.status, &self.to_json())
    }
}

impl From<&TurnError> for ApiError {
    fn from(why: &TurnError) -> Self {
        let status = match why {
            TurnError::NoAgent(agent) => return Self::no_model(agent.as_str()),
            TurnError::Provider(error) if error.class == ErrorClass::RateLimit => {
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

/// 404 for a path below `/v1`.
pub(in crate::gateway) fn not_found() -> HttpResponse {
    ApiError::bad_body(
        StatusCode::NOT_FOUND,
        "there is no such path; served are /v1/models and /v1/chat/completions",
    )
    .response()
}
