//! TLS of `web_fetch`: the server's name is verified against the platform's trust store.

use super::error::FetchError;
use picoclaw_policy::network::WebAddress;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;

/// The name that the server's certificate must be valid for.
pub(super) fn server_name(address: &WebAddress) -> Result<ServerName<'static>, FetchError> {
    match address.literal() {
        Some(ip) => Ok(ServerName::from(ip)),
        // Names in certificates have no trailing dot.
        None => ServerName::try_from(address.host().trim_end_matches('.').to_owned())
            .map_err(|error| FetchError::Tls(error.to_string())),
    }
}

/// A client configuration that trusts the platform's certificate authorities.
pub(super) fn platform_config() -> Result<Arc<ClientConfig>, FetchError> {
    let unusable = |error: rustls::Error| FetchError::Tls(error.to_string());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_platform_verifier()
        .map_err(unusable)?
        .with_no_client_auth();
    Ok(Arc::new(config))
}
