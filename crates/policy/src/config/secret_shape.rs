//! Values that look like secrets, whatever they are called: passwords in URLs, tokens of well-known
//! issuers, long random words.
//!
//! [`secret_ranges`] finds them in a text. What is masked in output and what is collected for
//! redaction are both what it finds.

use super::secret::{MASK, names_a_secret};
use std::ops::Range;

/// Beginnings of tokens, with the length from which on they are one.
const PREFIXES: [(&str, usize); 24] = [
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("whsec_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("dop_v1_", 20),
    ("SG.", 30),
];

/// The length from which on a word of digits, upper and lower case letters is taken for a token.
const MIN_RANDOM: usize = 24;

/// The length from which on a hexadecimal word is; a hash of git has 40 digits.
const MIN_HEX: usize = 48;

/// Names of secrets within a connection string or a JSON object.
const MEMBERS: [&str; 9] =
    ["password", "passwd", "pwd", "secret", "token", "api_key", "apikey", "accesskey", "accountkey"];

/// Whether a value looks like a secret.
pub fn looks_secret(value: &str) -> bool {
    let value = value.trim();
    !url_ranges(value).is_empty()
        || value.contains("-----BEGIN ")
        || value.split_whitespace().any(is_token)
        || has_secret_member(value)
        || is_data_source(value)
}

/// Whether `value` is a list such as `host=db;password=x`, or a JSON object with such a member.
fn has_secret_member(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let names_one = |name: &str| MEMBERS.iter().any(|member| name.ends_with(member));
    let is_secret = |pair: &str| {
        pair.split_once('=').is_some_and(|(name, value)| names_one(name.trim()) && !value.is_empty())
    };
    let in_object = || value.split('"').skip(1).step_by(2).any(names_one);
    value.split([';', ' ', ',', '&', '\n']).any(is_secret) || (value.starts_with('{') && in_object())
}

/// Whether `value` has the form `user:password@tcp(host)/database`.
fn is_data_source(value: &str) -> bool {
    let Some((credentials, address)) = value.split_once('@') else { return false };
    let Some((user, password)) = credentials.split_once(':') else { return false };
    let is_user = !user.is_empty() && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    is_user && !password.is_empty() && !password.contains(['/', ' ']) && address.contains(['(', '/'])
}

/// A command line with what looks like a secret masked.
pub fn mask_words<S: AsRef<str>>(words: &[S]) -> Vec<String> {
    let ranges = secret_ranges_of_words(words);
    words.iter().zip(ranges).map(|(word, ranges)| mask(word.as_ref(), &ranges)).collect()
}

/// A text with what looks like a secret masked.
pub(super) fn mask_word(word: &str) -> String {
    mask(word, &secret_ranges(word))
}

fn mask(text: &str, ranges: &[Range<usize>]) -> String {
    let mut shown = text.to_owned();
    for range in ranges.iter().rev() {
        shown.replace_range(range.clone(), MASK);
    }
    shown
}

/// The secrets in each word of a command line: those of the word itself, or the word as a whole
/// after an option that is named like a secret.
pub(super) fn secret_ranges_of_words<S: AsRef<str>>(words: &[S]) -> Vec<Vec<Range<usize>>> {
    let mut is_value = false;
    let ranges = words.iter().map(AsRef::as_ref).map(|word| {
        let is_option = word.starts_with('-');
        let was_value =
            std::mem::replace(&mut is_value, is_option && !word.contains('=') && names_a_secret(word));
        let whole = 0..word.len();
        if was_value && !is_option { vec![whole] } else { secret_ranges(word) }
    });
    ranges.collect()
}

/// Where a text contains secrets, in order: passwords, tokens and secret parameters of a URL, or
/// the value of a name of a secret, or words that look like tokens.
pub(super) fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    let ranges = url_ranges(text);
    if !ranges.is_empty() {
        return ranges;
    }
    for (at, _) in text.match_indices(['=', ':']) {
        let (name, value) = (&text[..at], &text[at + 1..]);
        let name = name.trim_end().rsplit([' ', ';', ',', '&']).next().unwrap_or_default();
        if names_a_secret(name) && !value.trim().is_empty() && !value.starts_with("//") {
            let rest = at + 1..text.len();
            return vec![rest];
        }
    }
    let parts = parts(text, char::is_whitespace);
    parts.filter(|(_, part)| is_token(part)).map(|(start, part)| start..start + part.len()).collect()
}

/// The password of a URL, a token in place of its user, and the values of secret parameters.
fn url_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let Some((scheme, rest)) = text.split_once("://") else { return ranges };
    let start = scheme.len() + "://".len();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((credentials, _)) = authority.rsplit_once('@') {
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        if is_token(user) {
            ranges.push(start..start + user.len());
        }
        if !password.is_empty() {
            ranges.push(start + user.len() + 1..start + credentials.len());
        }
    }
    let query = rest[authority.len()..].find(['?', '#']).map_or(rest.len(), |at| authority.len() + at);
    for (at, parameter) in parts(&rest[query..], |c| matches!(c, '?' | '#' | '&')) {
        if let Some((name, value)) = parameter.split_once('=')
            && !value.is_empty()
            && names_a_secret_parameter(name)
        {
            let at = start + query + at;
            ranges.push(at + name.len() + 1..at + parameter.len());
        }
    }
    ranges
}

fn names_a_secret_parameter(name: &str) -> bool {
    const NAMES: [&str; 6] = ["sig", "signature", "code", "auth", "pass", "pwd"];
    names_a_secret(name) || NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The parts of a text between separators, with their positions.
fn parts(text: &str, is_separator: fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive(is_separator).map(move |part| {
        let start = next;
        next += part.len();
        (start, part.strip_suffix(is_separator).unwrap_or(part))
    })
}

/// Whether one word looks like a token.
fn is_token(word: &str) -> bool {
    let word = word.trim_matches(|c| c == '"' || c == '\'');
    let known = PREFIXES.iter().any(|(prefix, length)| word.starts_with(prefix) && word.len() >= *length);
    known && word.bytes().all(|b| b.is_ascii_graphic() && b != b'/') || is_jwt(word) || is_random(word)
}

/// Three parts of base64 with points between them.
fn is_jwt(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_base64 = |part: &&str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    parts.len() == 3 && word.starts_with("eyJ") && word.len() >= 40 && parts.iter().all(is_base64)
}

fn is_random(word: &str) -> bool {
    let is_word = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+=".contains(&b));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = digits >= 3
        && word.bytes().any(|b| b.is_ascii_uppercase())
        && word.bytes().any(|b| b.is_ascii_lowercase());
    let is_hex = digits >= 3 && digits < word.len() && word.bytes().all(|b| b.is_ascii_hexdigit());
    is_word && ((word.len() >= MIN_RANDOM && is_mixed) || (word.len() >= MIN_HEX && is_hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_look() {
        for (value, want) in [
            ("postgres://u:secret@db.example/x", true),
            ("redis://:secret@db", true),
            ("amqp://user@host/", false),
            ("https://ghp_0123456789abcdefghij@github.com/x", true),
            ("https://hooks.example/?token=abc", true),
            ("https://example.org/?page=2", false),
            ("ghp_0123456789abcdefghijklmnop", true),
            ("sk-proj-0123456789abcdef", true),
            ("AKIAIOSFODNN7EXAMPLE", true),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123", true),
            ("Zx81kQm4Tt0aLw93Bv7cNn2d", true),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", true),
            ("user:secret@tcp(127.0.0.1:3306)/db", true),
            ("host=db user=u password=secret", true),
            ("Server=db;User Id=u;Pwd=secret;", true),
            ("DefaultEndpointsProtocol=https;AccountKey=abc==", true),
            (r#"{"registry": {"token": "abc"}}"#, true),
            (r#"{"level": "debug"}"#, false),
            ("git@github.com:owner/repository", false),
            ("-Xmx1g -Dfile.encoding=UTF-8", false),
            ("--max-old-space-size=4096", false),
            ("da39a3ee5e6b4b0d3255bfef95601890afd80709", false),
            ("550e8400-e29b-41d4-a716-446655440000", false),
            ("/usr/local/bin:/usr/bin", false),
            ("/home/User1/Projects/MyProject2024/Release3", false),
            ("en_US.UTF-8", false),
            ("unix:path=/run/user/1000/bus", false),
            ("rs=0:di=01;34:ln=01;36:*.tar=01;31", false),
            ("x86_64-unknown-linux-gnu", false),
            ("sk-SK.UTF-8", false),
            ("1.95.0", false),
            ("vim", false),
        ] {
            assert_eq!(looks_secret(value), want, "{value}");
        }
    }

    #[test]
    fn a_command_line_is_shown_without_its_secrets() {
        for (words, want) in [
            ("server --token abc --port 80", "server --token ******** --port 80"),
            ("server --api-key=abc -v", "server --api-key=******** -v"),
            ("server API_KEY=abc", "server API_KEY=********"),
            ("server --token --port 80", "server --token --port 80"),
            ("server https://u:p@h/?token=x&page=2", "server https://u:********@h/?token=********&page=2"),
            ("server https://h/#access_token=x", "server https://h/#access_token=********"),
            ("server https://h/?SIG=x#top", "server https://h/?SIG=********#top"),
            ("server http://u:a&b@h", "server http://u:********@h"),
            ("server http://u@h http://h:80", "server http://u@h http://h:80"),
            ("server host=db;password=x", "server host=db;password=********"),
            ("server ftp://p:p@h/p:p@h", "server ftp://p:********@h/p:p@h"),
            ("server ghp_0123456789abcdefghij", "server ********"),
            ("npx -y @scope/server /data", "npx -y @scope/server /data"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(mask_words(&words).join(" "), want);
        }
        assert_eq!(mask_words(&["curl", "-H", "Authorization: Bearer abc"])[2], "Authorization:********");
    }
}
