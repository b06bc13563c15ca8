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
    const PLAIN_ENDS: [&str; 4] = ["_type", "_method", "_mode", "_format"];
    let name = name.to_ascii_lowercase().replace('-', "_");
    PARTS.iter().any(|part| name.contains(part))
        && !PLAIN.iter().any(|plain| name.contains(plain))
        && !PLAIN_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a value is plainly a setting: a switch, a word, a number, a path, an address.
///
/// Environments and headers mix keys with settings. Redacting `true` or a path would garble every
/// output and protect nothing, so such values stay visible; the rest counts as secret (W85).
pub(crate) fn is_plain_setting(value: &str) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    let long = value.len() >= 20 && !value.contains([' ', '/']);
    is_place(value) || !(mixed && value.len() >= 8 || long)
}

/// Whether a value is a path, or an address without credentials.
fn is_place(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) || (value.contains("://") && !value.contains('@'))
}

/// Whether a value only says where a secret is: a path, an address, a variable, or a placeholder
/// such as `<token>`.
pub(crate) fn stands_for_a_secret(value: &str) -> bool {
    let is_drive = value.get(1..3).is_some_and(|text| text == ":\\" || text == ":/");
    let is_enclosed = [("${", "}"), ("{{", "}}"), ("<", ">"), ("%", "%")]
        .iter()
        .any(|(start, end)| value.len() > 1 && value.starts_with(start) && value.ends_with(end));
    let is_variable = value.strip_prefix('$').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    });
    is_place(value) || is_drive || is_enclosed || is_variable
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
            ("--token-type", false),
            ("auth_method", false),
            ("workspace", false),
        ] {
            assert_eq!(names_a_secret(name), want, "`{name}`");
        }
    }

    #[test]
    fn values_that_are_plainly_settings_stay_visible() {
        for (why, value, want) in [
            ("a switch", "true", true),
            ("a word", "production", true),
            ("a path", "/usr/share/data", true),
            ("an address", "https://example.com/v1", true),
            ("a media type", "application/json", true),
            ("a number", "123456789", true),
            ("too short to be a secret", "abc123", true),
            ("letters and digits", "a1b2c3d4e5", false),
            ("a long word", "correcthorsebatterystaple", false),
            ("an address with a password", "postgres://u:hunter22@db", false),
        ] {
            assert_eq!(is_plain_setting(value), want, "{why}: `{value}`");
        }
    }

    #[test]
    fn a_reference_to_a_secret_is_none() {
        for (value, want) in [
            ("/run/secrets/token", true),
            ("./token", true),
            ("C:\\token", true),
            ("https://issuer.example/token", true),
            ("${API_TOKEN}", true),
            ("$API_TOKEN", true),
            ("{{ token }}", true),
            ("<your-token>", true),
            ("%TOKEN%", true),
            ("$wordfish", false),
            ("%", false),
            ("swordfish", false),
            ("postgres://u:hunter22@db", false),
        ] {
            assert_eq!(stands_for_a_secret(value), want, "`{value}`");
        }
    }
}
