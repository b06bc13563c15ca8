//! What HTTP is spoken over: a line, in the clear or encrypted.
//!
//! Invariant: a secure channel speaks only to whoever the host's name was vouched for.

use super::error::FetchError;
use picoclaw_policy::network::{Scheme, WebAddress};
use picoclaw_sandbox::outbound::Line;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// A line, in the clear or encrypted.
pub(super) enum Channel {
    Plain(Box<Line>),
    Secure(Box<StreamOwned<ClientConnection, Line>>),
}

/// The other side's manner of speaking, agreed on before anything is opened.
pub(super) enum Manner {
    Plain,
    Secure(Box<ClientConnection>),
}

impl Manner {
    /// As the address's scheme says.
    pub(super) fn of(
        address: &WebAddress,
        trust: impl FnOnce() -> Result<Arc<ClientConfig>, FetchError>,
    ) -> Result<Self, FetchError> {
        match address.scheme() {
            Scheme::Http => Ok(Self::Plain),
            Scheme::Https => Ok(Self::Secure(Box::new(client(address, trust()?)?))),
        }
    }
}

impl Channel {
    pub(super) fn over(line: Line, manner: Manner) -> Self {
        match manner {
            Manner::Plain => Self::Plain(Box::new(line)),
            Manner::Secure(connection) => Self::Secure(Box::new(StreamOwned::new(*connection, line))),
        }
    }

    /// Says goodbye, and hands the line back.
    pub(super) fn end(self) -> Line {
        match self {
            Self::Plain(line) => *line,
            Self::Secure(mut stream) => {
                stream.conn.send_close_notify();
                // A courtesy; the line is closed either way.
                let _ = stream.conn.write_tls(&mut stream.sock);
                stream.sock
            }
        }
    }
}

fn client(address: &WebAddress, trust: Arc<ClientConfig>) -> Result<ClientConnection, FetchError> {
    let name = match address.literal() {
        Some(ip) => ServerName::from(ip),
        // Certificates know no trailing dot.
        None => ServerName::try_from(address.host().trim_end_matches('.').to_owned())
            .map_err(|why| FetchError::Tls(why.to_string()))?,
    };
    ClientConnection::new(trust, name).map_err(|why| FetchError::Tls(why.to_string()))
}

/// Whoever this machine trusts.
pub(super) fn system_trust() -> Result<Arc<ClientConfig>, FetchError> {
    let unusable = |why: rustls::Error| FetchError::Tls(why.to_string());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_platform_verifier()
        .map_err(unusable)?
        .with_no_client_auth();
    Ok(Arc::new(config))
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.read(buffer),
            Self::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(line) => line.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}
