//! Environment variables of children.
//!
//! Invariant: a child without a cage gets no variable that is named like a secret, looks like one
//! or contains a configured one. A cage passes a few variables by their names.

use picoclaw_policy::config::looks_secret;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// An environment, in order.
pub type Variables = Vec<(OsString, OsString)>;

/// Words in the name of a variable that holds a secret.
const SECRET_WORDS: [&str; 11] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTHORIZATION",
    "COOKIE",
    "WEBHOOK",
    "UNSEAL",
];

/// Endings of the name of a variable that holds a secret.
const SECRET_ENDINGS: [&str; 6] = ["_PASS", "_PWD", "_AUTH", "_PAT", "_SEED", "_DSN"];

/// The host's environment without secrets, for a child without a cage.
pub fn without_secrets(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    secrets: &[String],
) -> Variables {
    let mut kept: Variables = Vec::new();
    for (name, value) in host {
        // Windows keeps the current directory of each drive in variables such as `=C:`.
        let plain = !name.is_empty()
            && !name.as_encoded_bytes().starts_with(b"=")
            && !is_secret_name(&name)
            && !holds_secret(&value, secrets)
            && !looks_secret(&value.to_string_lossy());
        if plain {
            set(&mut kept, &name, value);
        }
    }
    kept
}

/// Sets a variable, in its place if it exists.
pub fn set(variables: &mut Variables, name: impl AsRef<OsStr>, value: impl Into<OsString>) {
    let (name, value) = (name.as_ref(), value.into());
    match variables.iter_mut().find(|(known, _)| is_same_name(known, name)) {
        Some(variable) => variable.1 = value,
        None => variables.push((name.to_owned(), value)),
    }
}

/// The value of `name`.
pub fn get<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsStr> {
    variables
        .iter()
        .find(|(known, _)| is_same_name(known, OsStr::new(name)))
        .map(|(_, value)| value.as_os_str())
}

/// Whether two names are those of one variable: on Windows `Path` is `PATH`.
fn is_same_name(a: &OsStr, b: &OsStr) -> bool {
    if cfg!(windows) { a.eq_ignore_ascii_case(b) } else { a == b }
}

/// Sets `PWD` and removes `OLDPWD`, as a shell does.
pub fn set_work_dir(variables: &mut Variables, path: &Path) {
    variables.retain(|(name, _)| name != "OLDPWD");
    set(variables, "PWD", path.as_os_str());
}

/// Whether a variable of this name is taken for a secret.
pub(crate) fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let words = SECRET_WORDS.iter().any(|word| name.contains(word));
    words
        || name.starts_with("PICOCLAW_")
        || name == "PASS"
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a value contains a configured secret. Secrets shorter than four bytes would match too
/// much.
fn holds_secret(value: &OsStr, secrets: &[String]) -> bool {
    let value = value.as_encoded_bytes();
    secrets.iter().map(|secret| secret.as_bytes()).filter(|secret| secret.len() >= 4).any(|secret| {
        value.len() >= secret.len() && value.windows(secret.len()).any(|window| window == secret)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_or_looks_like_a_secret_stays_here() {
        let secrets = ["hunter2hunter2".to_owned(), "ab".to_owned()];
        for (why, name, value, kept) in [
            ("an ordinary variable", "EDITOR", "vim", true),
            ("the search path", "PATH", "/usr/bin:/bin", true),
            ("a provider's key", "OPENAI_API_KEY", "x", false),
            ("a password by another name", "MYSQL_PWD", "x", false),
            ("the directory", "PWD", "/x", true),
            ("in lower case too", "github_token", "x", false),
            ("our own settings", "PICOCLAW_LOG_LEVEL", "debug", false),
            ("a database password", "PGPASSWORD", "x", false),
            ("the short spelling", "MYSQL_PASSWD", "x", false),
            ("a passphrase", "SSH_PASSPHRASE", "x", false),
            ("a cloud's credentials", "GOOGLE_APPLICATION_CREDENTIALS", "/x", false),
            ("a secret under another name", "BANNER", "it is hunter2hunter2!", false),
            ("two letters are no secret to look for", "FAB", "abc", true),
            ("the shortest spelling", "DB_PASS", "x", false),
            ("a word that only begins so", "PASSIVE_MODE", "1", true),
            ("a login", "REDISCLI_AUTH", "x", false),
            ("the socket of an agent", "SSH_AUTH_SOCK", "/tmp/agent", true),
            ("a personal access token", "GITLAB_PAT", "x", false),
            ("a connection", "SENTRY_DSN", "x", false),
            ("an address that is a secret", "SLACK_WEBHOOK_URL", "x", false),
            ("a terminal's own", "TERM", "xterm", true),
            ("the directory of a drive", "=C:", r"C:\Users", false),
            ("a URL with a password", "DATABASE_URL", "postgres://u:secret@db/x", false),
            ("one without", "HOMEPAGE", "https://example.org/x", true),
            ("what looks like a token", "GH", "ghp_0123456789abcdefghijklmnop", false),
        ] {
            let got = without_secrets([(name.into(), value.into())], &secrets);
            assert_eq!(!got.is_empty(), kept, "{why}: `{name}`");
        }
    }

    #[test]
    fn the_last_value_of_a_name_wins() {
        let got = without_secrets(
            [("A".into(), "1".into()), ("B".into(), "2".into()), ("A".into(), "3".into())],
            &[],
        );
        assert_eq!(got, [("A".into(), "3".into()), ("B".into(), "2".into())] as [(OsString, OsString); 2]);
    }
}
