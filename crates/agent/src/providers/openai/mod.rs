//! OpenAI's chat completions API, as many servers implement it.

mod request;
mod response;
mod stream;

pub(super) use request::OpenAi;
