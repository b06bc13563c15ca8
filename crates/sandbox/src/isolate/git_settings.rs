//! Parses git's configuration files, as git does.

use std::iter::Peekable;

/// One setting.
#[derive(Debug)]
pub(crate) struct GitSetting {
    /// Its section, in small letters, without the subsection.
    pub(crate) section: String,
    /// The subsection, such as that of `[remote "origin"]`.
    pub(crate) subsection: Option<Vec<u8>>,
    /// Its name, in small letters.
    pub(crate) name: String,
    /// Its value; `None` for a name alone, which means `true`.
    pub(crate) value: Option<Vec<u8>>,
}

/// The settings of a file, in its order.
pub(crate) fn git_settings(text: &[u8]) -> Vec<GitSetting> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut rest = text.iter().copied().filter(|byte| *byte != b'\r').peekable();
    let (mut section, mut subsection, mut found) = (String::new(), None, Vec::new());
    while let Some(byte) = rest.next() {
        match byte {
            b'[' => (section, subsection) = header(&mut rest),
            b'#' | b';' => skip_line(&mut rest),
            first if first.is_ascii_alphabetic() => {
                let mut name = vec![first];
                while let Some(byte) = rest.next_if(|byte| !matches!(byte, b'=' | b'\n')) {
                    name.push(byte);
                }
                let value = (rest.next() == Some(b'=')).then(|| value(&mut rest));
                let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
                let (section, subsection) = (section.clone(), subsection.clone());
                found.push(GitSetting { section, subsection, name, value });
            }
            _ => {}
        }
    }
    found
}

/// The name of a section and its subsection. The header ends with a bracket outside quotes.
fn header(rest: &mut impl Iterator<Item = u8>) -> (String, Option<Vec<u8>>) {
    let (mut header, mut is_quoted, mut has_quotes) = (Vec::new(), false, false);
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => break,
            b']' if !is_quoted => break,
            b'"' => (is_quoted, has_quotes) = (!is_quoted, true),
            b'\\' => header.extend(rest.next()),
            byte => header.push(byte),
        }
    }
    let header = header.trim_ascii_start();
    let end = header.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'.');
    let (name, subsection) = header.split_at(end.unwrap_or(header.len()));
    let subsection = match subsection.split_first() {
        Some((b'.', subsection)) => subsection,
        _ => subsection.trim_ascii_start(),
    };
    let has_subsection = has_quotes || !subsection.is_empty();
    (String::from_utf8_lossy(name).to_ascii_lowercase(), has_subsection.then(|| subsection.to_owned()))
}

/// The text to the end of the line, without quotes, comments and the white space around it.
fn value(rest: &mut Peekable<impl Iterator<Item = u8>>) -> Vec<u8> {
    let (mut value, mut length, mut is_quoted) = (Vec::new(), 0, false);
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\n' => break,
            b'#' | b';' if !is_quoted => {
                skip_line(rest);
                break;
            }
            b' ' | b'\t' if !is_quoted => {
                if length > 0 {
                    value.push(byte);
                }
                continue;
            }
            b'"' => {
                is_quoted = !is_quoted;
                continue;
            }
            b'\\' => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'b') => b'\x08',
                // The value goes on in the next line.
                Some(b'\n') | None => continue,
                Some(byte) => byte,
            },
            byte => byte,
        };
        value.push(byte);
        length = value.len();
    }
    value.truncate(length);
    value
}

fn skip_line(rest: &mut impl Iterator<Item = u8>) {
    rest.find(|byte| *byte == b'\n');
}
