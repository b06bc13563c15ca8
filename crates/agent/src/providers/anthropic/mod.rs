//! Anthropic's messages API.

mod request;
mod response;
mod stream;

pub(super) use request::Anthropic;
