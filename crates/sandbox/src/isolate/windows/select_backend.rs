//! Selects the only backend, after its token was made and read back.

use crate::isolate::backend::Backend;
use crate::isolate::error::StartError;
use crate::isolate::windows_rules::refusal;
use picoclaw_policy::config::IsolationConfig;
use picoclaw_sys::windows::RestrictedToken;
use std::ffi::OsStr;

/// Selects the restricted token, if the configuration allows it and this host makes one.
pub fn select_backend(isolation: &IsolationConfig, _path: &OsStr) -> Result<Backend, StartError> {
    if let Some(why) = refusal(isolation.backend, &isolation.expose_paths) {
        return Err(why);
    }
    RestrictedToken::new()
        .and_then(|token| token.lower_integrity())
        .map_err(|error| StartError::Token { reason: error.to_string() })?;
    let backend = Backend::RestrictedToken;
    if let Some((layer, grade)) = backend.enforced(isolation).lacks(&isolation.require) {
        return Err(StartError::Required { layer, grade: grade.to_string() });
    }
    Ok(backend)
}

/// No backend is attempted without its check.
pub(crate) fn untried_backend(_isolation: &IsolationConfig) -> Option<Backend> {
    None
}
