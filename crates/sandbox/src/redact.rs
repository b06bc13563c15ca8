//! Removes configured secrets from text: ledger, logs, tool results, answers.
//!
//! Every byte of an occurrence is removed, also where two secrets overlap: of `sk-abc` and
//! `sk-abcdef-tail` the longer one is matched, and no tail is left. The JSON spellings of a secret
//! are matched as well, so that it is found inside a quoted argument.
//!
//! A secret that can be guessed is not removed: a text with every guess in it would tell which one
//! is right. Guessable is what has less than 32 bits if its characters were random: 6 lower-case
//! letters, 9 digits, 5 characters of any kind.
//!
//! Out of scope: a secret that was encoded, reversed or split. Children do not get secrets in the
//! first place.

use aho_corasick::AhoCorasick;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What replaces a secret.
const FILTERED: &str = "[FILTERED]";

/// Bits below which a secret can be guessed by writing every guess into a text.
const MIN_SECRET_BITS: f64 = 32.0;

/// Removes known secrets from text, in time linear in the text.
#[derive(Clone, Default)]
pub struct Redactor(Known);

/// Every spelling of every secret, for text that arrives in parts.
type Spellings = Arc<[String]>;

/// What a redactor matches.
#[derive(Clone, Default)]
enum Known {
    #[default]
    Nothing,
    Secrets(AhoCorasick, Spellings),
    /// More secrets than an automaton can hold (2^31 states): every text is replaced as a whole.
    TooMuch,
}

impl Redactor {
    /// Matches `secrets`, each in all its spellings.
    pub fn new(secrets: &[String]) -> Self {
        let secrets = secrets.iter().map(|secret| secret.trim()).filter(|secret| !is_guessable(secret));
        let mut patterns: Vec<String> = secrets.flat_map(spellings).collect();
        patterns.sort_unstable();
        patterns.dedup();
        if patterns.is_empty() {
            return Self(Known::Nothing);
        }
        let automaton = AhoCorasick::new(&patterns);
        Self(automaton.map_or(Known::TooMuch, |automaton| Known::Secrets(automaton, patterns.into())))
    }

    /// Takes the redacted beginning off a text that still grows; what may be the beginning of a
    /// secret stays.
    pub fn ready(&self, growing: &mut String) -> String {
        let (automaton, spellings) = match &self.0 {
            Known::Nothing => return std::mem::take(growing),
            Known::Secrets(automaton, spellings) => (automaton, spellings),
            Known::TooMuch => return String::new(),
        };
        let held =
            spellings.iter().map(|spelling| partial_match(growing, spelling)).max().unwrap_or_default();
        let mut cut = growing.len() - held;
        // A secret that reaches into what is held back is held back as a whole, or its beginning
        // would be shown.
        for (start, end) in occurrences(automaton, growing).into_iter().rev() {
            if start < cut && cut < end {
                cut = start;
            }
        }
        let rest = growing.split_off(cut);
        let ready = std::mem::replace(growing, rest);
        self.clean(&ready).into_owned()
    }

    /// The same for an owned text, which is not copied when it contains no secret.
    pub fn clean_own(&self, text: String) -> String {
        match (&self.0, self.clean(&text)) {
            (Known::Nothing | Known::Secrets(..), Cow::Borrowed(_)) => text,
            (_, cleaned) => cleaned.into_owned(),
        }
    }

    /// `text` without secrets; borrowed when it contains none.
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let automaton = match &self.0 {
            Known::Nothing => return Cow::Borrowed(text),
            Known::Secrets(automaton, _) => automaton,
            Known::TooMuch => return Cow::Borrowed(FILTERED),
        };
        if !automaton.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut kept = 0;
        for (start, end) in occurrences(automaton, text) {
            // Patterns are whole strings, so both ends are character boundaries; `get` keeps that
            // from being a panic.
            out.push_str(text.get(kept..start).unwrap_or_default());
            out.push_str(FILTERED);
            kept = end;
        }
        out.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// Whether a secret is so short that it is not removed from texts.
pub fn is_guessable(secret: &str) -> bool {
    let has = |is_in: fn(&char) -> bool| secret.chars().any(|c| is_in(&c));
    let kinds = [
        (has(char::is_ascii_digit), 10.0),
        (has(char::is_ascii_lowercase), 26.0),
        (has(char::is_ascii_uppercase), 26.0),
        (has(|c| !c.is_ascii_alphanumeric()), 33.0),
    ];
    let alphabet: f64 = kinds.iter().filter(|(is_used, _)| *is_used).map(|(_, size)| size).sum();
    let length = u32::try_from(secret.chars().count()).unwrap_or(u32::MAX);
    f64::from(length) * alphabet.max(1.0).log2() < MIN_SECRET_BITS
}

/// How many bytes at the end of `text` are a proper prefix of `spelling`.
fn partial_match(text: &str, spelling: &str) -> usize {
    let longest = spelling.len().saturating_sub(1).min(text.len());
    let ends = |length: &usize| text.as_bytes().ends_with(&spelling.as_bytes()[..*length]);
    (1..=longest).rev().find(ends).unwrap_or_default()
}

/// The ranges of secrets in order; overlapping ones are joined, adjacent ones are not.
fn occurrences(automaton: &AhoCorasick, text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for hit in automaton.find_overlapping_iter(text) {
        let (mut start, end) = (hit.start(), hit.end());
        while let Some(&(before, last)) = found.last() {
            if last <= start {
                break;
            }
            start = start.min(before);
            found.pop();
        }
        found.push((start, end));
    }
    found
}

/// A secret as it is, and as JSON may spell it: minimal, in ASCII, with escaped slashes.
fn spellings(secret: &str) -> [String; 4] {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    let ascii = json.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        out
    });
    let slashes = json.replace('/', "\\/");
    [secret.to_owned(), json, ascii, slashes]
}

impl fmt::Debug for Redactor {
    // The automaton's own form would print every secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Known::Nothing => f.write_str("Redactor(nothing)"),
            Known::Secrets(automaton, _) => write!(f, "Redactor({} spellings)", automaton.patterns_len()),
            Known::TooMuch => f.write_str("Redactor(everything)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::new(&secrets.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn every_byte_of_a_secret_goes() {
        let two = ["sk-abc", "sk-abcdef-secret-tail"];
        for (why, secrets, text, want) in [
            ("nothing secret", &two[..], "hello", "hello"),
            ("one secret", &two, "key=sk-abc.", "key=[FILTERED]."),
            ("the longer one, not its beginning", &two, "key=sk-abcdef-secret-tail.", "key=[FILTERED]."),
            (
                "the order of the list is nothing",
                &["sk-abcdef-secret-tail", "sk-abc"],
                "sk-abcdef-secret-tail",
                "[FILTERED]",
            ),
            ("overlapping secrets leave no tail", &["abc-123", "123-def"], "xabc-123-defy", "x[FILTERED]y"),
            ("a secret that overlaps itself", &["aaaaaaa"], "aaaaaaaaa", "[FILTERED]"),
            ("touching secrets stay two", &["aaaaaaa", "bbbbbbb"], "aaaaaaabbbbbbb", "[FILTERED][FILTERED]"),
            (
                "a long one that swallows two earlier ones",
                &["abc-123", "def-456", "xabc-123def-456x"],
                "xabc-123def-456x",
                "[FILTERED]",
            ),
            (
                "one that can be guessed is left",
                &["4711", "abcdef", "aB3-"],
                "4711 abcdef aB3-",
                "4711 abcdef aB3-",
            ),
            ("quoted in JSON", &["p\"q\\rst"], r#"{"a":"p\"q\\rst"}"#, r#"{"a":"[FILTERED]"}"#),
            ("escaped to ASCII by another writer", &["clé-12"], r"cl\u00e9-12", "[FILTERED]"),
            ("with escaped slashes", &["a/b/c/d"], r"a\/b\/c\/d", "[FILTERED]"),
            ("the file it came from ended in a new line", &["tok-123\n"], "tok-123 x", "[FILTERED] x"),
            ("an empty secret is none", &["", "   "], "a b", "a b"),
        ] {
            assert_eq!(redactor(secrets).clean(text), want, "{why}");
        }
    }

    #[test]
    fn a_secret_that_comes_in_pieces_is_found() {
        let secrets = ["sk-abc", "sk-abcdef-tail", "abcd-12", "12-cdef", "clé-secret"];
        for (why, text) in [
            ("plain", "hello there, nothing here"),
            ("one", "key sk-abc end"),
            ("the longer one", "key sk-abcdef-tail end"),
            ("almost the longer one", "key sk-abcdef-tai end"),
            ("overlapping", "xabcd-12-cdefy"),
            ("the first of two that overlap", "xabcd-12zz"),
            ("not ASCII", "xclé-secrety clé-secre"),
            ("at the very end", "x sk-abc"),
        ] {
            let whole = redactor(&secrets).clean(text).into_owned();
            for size in 1..=text.len() {
                let (mut growing, mut seen) = (String::new(), String::new());
                let characters: Vec<char> = text.chars().collect();
                for piece in characters.chunks(size) {
                    growing.extend(piece);
                    seen.push_str(&redactor(&secrets).ready(&mut growing));
                }
                seen.push_str(&redactor(&secrets).clean(&growing));
                assert_eq!(seen, whole, "{why}, {size} at a time");
            }
        }
    }

    #[test]
    fn without_secrets_nothing_is_built_or_copied() {
        let none = redactor(&[]);
        assert!(matches!(none.0, Known::Nothing));
        assert!(matches!(none.clean("text"), Cow::Borrowed("text")));
    }

    #[test]
    fn debugging_a_redactor_shows_no_secret() {
        assert!(!format!("{:?}", redactor(&["hunter2hunter2"])).contains("hunter2"));
    }

    #[test]
    fn many_secrets_and_a_long_text_take_linear_time() {
        let nested: Vec<String> = (7..64).map(|n| "a".repeat(n)).collect();
        let text = "a".repeat(1 << 16);
        let start = std::time::Instant::now();
        assert_eq!(Redactor::new(&nested).clean(&text), FILTERED);
        assert!(start.elapsed().as_secs() < 20, "quadratic: {:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn no_secret_survives(secrets in prop::collection::vec("[abé]{7,9}", 1..5), text in "[abé]{0,40}") {
            let clean = Redactor::new(&secrets).clean(&text).into_owned();
            for secret in &secrets {
                prop_assert!(!clean.contains(secret.as_str()), "{secret} in {clean}");
            }
        }
    }
}
