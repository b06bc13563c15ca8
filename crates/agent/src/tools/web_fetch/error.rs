//! Why a page that was allowed was not had.
//!
//! Invariant: nothing that a server wrote stands in these texts unescaped.

use picoclaw_sandbox::outbound::{OutboundError, Stopped};
use std::io;

/// Why a page that was allowed was not had.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// No connection.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(io::Error),
    /// The time was over, or somebody asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// No encryption could be agreed on, or nobody vouches for the server.
    #[error("no secure connection: {0}")]
    Tls(String),
    /// The answer breaks the rules of HTTP.
    #[error("the answer is not HTTP: {0}")]
    NotHttp(&'static str),
    /// The answer is larger than is read.
    #[error("failed to read response: size exceeded {0} bytes limit")]
    TooLarge(u64),
    /// The answer ended before its end.
    #[error("the answer was cut off")]
    CutOff,
    /// The answer is compressed, although that was not asked for.
    #[error("the answer is compressed (`{0}`), which was not asked for and is not read")]
    Compressed(String),
    /// The answer is no text.
    #[error("the content is not text (`{0}`)")]
    NotText(String),
    /// The text is in an encoding that is not known here.
    #[error("the text is encoded as `{0}`, which is not read here")]
    Charset(String),
}

impl From<io::Error> for FetchError {
    fn from(why: io::Error) -> Self {
        let inner = why.get_ref();
        if let Some(stopped) = inner.and_then(|inner| inner.downcast_ref::<Stopped>()) {
            return Self::Stopped(*stopped);
        }
        if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::Tls(tls.to_string());
        }
        if why.kind() == io::ErrorKind::UnexpectedEof {
            return Self::CutOff;
        }
        Self::Io(why)
    }
}
