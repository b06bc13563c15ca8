//! Errors of `web_fetch`. Text that a server wrote is escaped before it gets in here.

use picoclaw_sandbox::outbound::{OutboundError, WaitEnded};
use picoclaw_sandbox::{first_chars, printable};
use std::error::Error;
use std::io;

/// Why a permitted page was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// No connection.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(String),
    /// The deadline passed, or the call was cancelled.
    #[error(transparent)]
    Stopped(#[from] WaitEnded),
    /// The TLS handshake failed, or the certificate is not trusted.
    #[error("the secure connection failed: {0}")]
    Tls(String),
    /// The answer breaks the rules of HTTP.
    #[error("the response is not HTTP: {0}")]
    NotHttp(&'static str),
    /// The answer is larger than is read.
    #[error("failed to read response: size exceeded {0} bytes limit")]
    TooLarge(u64),
    /// The connection ended in the middle of the answer.
    #[error("the response was cut off")]
    CutOff,
    /// The answer is compressed, although that was not asked for.
    #[error("the response is compressed (`{0}`), which was not requested and is not supported")]
    Compressed(String),
    /// The answer is not text.
    #[error("the content is not text (`{0}`)")]
    NotText(String),
    /// The label of the text's encoding is not known.
    #[error("the text is encoded as `{0}`, which is not supported")]
    Charset(String),
}

impl From<&io::Error> for FetchError {
    fn from(error: &io::Error) -> Self {
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::Tls(tls.to_string());
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutOff,
            // hyper's decoder of chunked bodies reports these.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Self::NotHttp("a chunk is malformed"),
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<hyper::Error> for FetchError {
    fn from(error: hyper::Error) -> Self {
        if error.is_parse_too_large() {
            return Self::NotHttp("its head is too long");
        }
        if error.is_parse() {
            return Self::NotHttp("its head is malformed");
        }
        if error.is_incomplete_message() {
            return Self::CutOff;
        }
        match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
            Some(source) => Self::from(source),
            None => Self::Io(error.to_string()),
        }
    }
}

/// Text that a server wrote, fit for an error message: short, and printable.
pub(super) fn excerpt(text: &str) -> String {
    printable(first_chars(text, 64)).into_owned()
}
