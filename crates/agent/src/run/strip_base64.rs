//! Removes base64 data from tool results: it fills the context window and no model can read it.

/// The shortest run that is taken for base64.
const MIN_LETTERS: usize = 1024;

/// The shortest line of base64 that is broken into lines.
const MIN_LINE: usize = 60;

/// Replaces data URLs and long stretches of base64 by a note.
pub(super) fn strip_base64(text: String) -> String {
    if text.len() < MIN_LETTERS && !text.contains(";base64,") {
        return text;
    }
    let bytes = text.as_bytes();
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let (length, letters) = run(&bytes[at..]);
        if length == 0 {
            at += 1;
            continue;
        }
        let head = &text[kept..at];
        let url = data_url(head);
        if url.is_some() || (letters >= MIN_LETTERS && looks_encoded(&bytes[at..at + length])) {
            let start = url.map_or(at, |(start, _)| kept + start);
            out.push_str(&text[kept..start]);
            match url {
                Some((_, kind)) => {
                    out.push_str(&format!("[inline {kind} removed: {letters} characters of base64]"))
                }
                None => out.push_str(&format!("[base64 removed: {letters} characters]")),
            }
            kept = at + length;
        }
        at += length;
    }
    if kept == 0 {
        return text;
    }
    out.push_str(&text[kept..]);
    out
}

/// The length of the run of base64 at the beginning, with the line ends inside, and its letters.
fn run(bytes: &[u8]) -> (usize, usize) {
    let (mut at, mut letters, mut line) = (0, 0, 0);
    loop {
        match bytes.get(at) {
            Some(byte) if is_letter(*byte) => {
                (at, letters, line) = (at + 1, letters + 1, line + 1);
            }
            Some(b'\n') if line >= MIN_LINE && bytes.get(at + 1).is_some_and(|byte| is_letter(*byte)) => {
                (at, line) = (at + 1, 0);
            }
            Some(b'\r') if line >= MIN_LINE && bytes.get(at + 1) == Some(&b'\n') => at += 1,
            _ => return (at, letters),
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

/// Base64 of data has capitals, small letters and digits; a long word, a rule or a number does not.
fn looks_encoded(run: &[u8]) -> bool {
    let has = |what: fn(&u8) -> bool| run.iter().any(what);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// Where a data URL's head begins at the end of `head`, and what kind it is.
fn data_url(head: &str) -> Option<(usize, &str)> {
    let before = head.strip_suffix(";base64,")?;
    let start = before.rfind("data:")?;
    let kind = &before[start + 5..];
    let fits = kind.len() <= 100 && kind.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| (start, kind.split(';').next().filter(|kind| !kind.is_empty()).unwrap_or("data")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_replaced_and_text_stays() {
        let code: String = "aB3+".chars().cycle().take(2000).collect();
        let wrapped = code.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned());
        let wrapped = wrapped.collect::<Vec<_>>().join("\n");
        let short: String = code.chars().take(1000).collect();
        for (why, text, want) in [
            ("short text", "hello".to_owned(), "hello".to_owned()),
            ("a long run", format!("a: {code} b"), "a: [base64 removed: 2000 characters] b".to_owned()),
            ("broken into lines", format!("{wrapped}\n"), "[base64 removed: 2000 characters]\n".to_owned()),
            ("a run that is not long", format!("x {short} y"), format!("x {short} y")),
            ("one letter again and again", "x".repeat(5000), "x".repeat(5000)),
            ("a rule", "=".repeat(5000), "=".repeat(5000)),
            (
                "a picture",
                format!("<img src=\"data:image/png;base64,{short}\">"),
                "<img src=\"[inline image/png removed: 1000 characters of base64]\">".to_owned(),
            ),
            (
                "two pictures",
                "data:image/gif;base64,aaaa data:;base64,bb".to_owned(),
                "[inline image/gif removed: 4 characters of base64] [inline data removed: 2 characters of base64]"
                    .to_owned(),
            ),
            ("words of prose", "word ".repeat(1000), "word ".repeat(1000)),
            ("not ASCII", "é".repeat(3000), "é".repeat(3000)),
        ] {
            assert_eq!(strip_base64(text), want, "{why}");
        }
    }
}
