//! Secrets: values that formatting does not show.

use std::fmt;

/// The replacement for a secret in output.
pub const MASK: &str = "********";

/// The placeholder in a PicoClaw file for a value in the secrets file.
pub(crate) const NOT_HERE: &str = "[NOT_HERE]";

/// A value that `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Whether a key of this name contains a secret, by the name alone.
pub(crate) fn names_a_secret(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "authorization",
        "cookie",
        "auth_",
    ];
    // Counts and settings about tokens are not tokens.
    const PLAIN: [&str; 6] =
        ["max_tokens", "token_percent", "token_budget", "allow_token", "key_path", "keyboard"];
    let name = name.to_ascii_lowercase().replace('-', "_");
    PARTS.iter().any(|part| name.contains(part)) && !PLAIN.iter().any(|plain| name.contains(plain))
}

/// Whether a value is treated as secret although its name is not.
///
/// Environments and headers mix keys with settings. Redacting `true` or a path would garble every
/// output and protect nothing, so such values stay visible; the rest counts as secret (W85).
pub(crate) fn looks_secret(value: &str) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    let place = value.starts_with(['/', '~', '.']) || (value.contains("://") && !value.contains('@'));
    !place && ((mixed && value.len() >= 8) || (value.len() >= 20 && !value.contains([' ', '/'])))
}

/// The password in an address such as `http://user:password@host`.
pub(crate) fn password_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?} {:#?}", Secret::new("sk-live-1"), Some(Secret::new("sk-live-1")));
        assert!(!shown.contains("sk-live"), "{shown}");
    }

    #[test]
    fn names_tell_what_is_secret() {
        for (name, want) in [
            ("api_key", true),
            ("X-Api-Key", true),
            ("GITHUB_PERSONAL_ACCESS_TOKEN", true),
            ("crypto_passphrase", true),
            ("nickserv_password", true),
            ("Authorization", true),
            ("max_tokens", false),
            ("allow_token_query", false),
            ("workspace", false),
        ] {
            assert_eq!(names_a_secret(name), want, "`{name}`");
        }
    }

    #[test]
    fn values_that_are_plainly_settings_stay_visible() {
        for (why, value, want) in [
            ("a switch", "true", false),
            ("a word", "production", false),
            ("a path", "/usr/share/data", false),
            ("an address", "https://example.com/v1", false),
            ("a media type", "application/json", false),
            ("a number", "123456789", false),
            ("too short to be one", "abc123", false),
            ("letters and digits", "a1b2c3d4e5", true),
            ("a long word", "correcthorsebatterystaple", true),
            ("an address with a password", "postgres://u:hunter22@db", true),
        ] {
            assert_eq!(looks_secret(value), want, "{why}: `{value}`");
        }
    }

    #[test]
    fn a_password_in_an_address_is_found() {
        assert_eq!(password_in("http://u:p%40ss@proxy:8080/x"), Some("p%40ss"));
        assert_eq!(password_in("http://proxy:8080"), None);
        assert_eq!(password_in("http://u@proxy"), None);
    }
}
