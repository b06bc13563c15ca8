//! HTML as a row of texts and tags.
//!
//! Not a parser of the standard: it finds where markup begins and ends, in one pass, and repairs nothing.
//!
//! Invariant: linear in the page, whatever is left open in it.

/// A piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'p> {
    Text(&'p str),
    /// A tag that opens, with its attributes as they are written.
    Open(&'p str, &'p str),
    Close(&'p str),
}

/// Elements whose contents are no text of the page and hold no tags: they end at their own closing tag alone.
const RAW: &[&str] = &["script", "style", "iframe", "noembed", "noframes", "xmp"];

/// Reads a page piece by piece.
pub(super) struct Tags<'p> {
    rest: &'p str,
}

impl<'p> Tags<'p> {
    pub(super) fn new(page: &'p str) -> Self {
        Self { rest: page }
    }

    /// Takes everything up to `at`, and leaves what follows.
    fn take(&mut self, at: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Passes over everything up to and with `end`; what has no end swallows the rest.
    fn skip_past(&mut self, end: &str) {
        let at = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(at);
    }

    fn tag(&mut self) -> Option<Piece<'p>> {
        let inside = self.rest.get(1..)?;
        let (is_close, name_at) = if inside.starts_with('/') { (true, 2) } else { (false, 1) };
        let body = self.rest.get(name_at..)?;
        if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name_end =
            body.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(body.len());
        let (name, attributes) = body.split_at_checked(name_end)?;
        let end = tag_end(attributes);
        let attributes = attributes.get(..end)?;
        self.take(name_at + name_end + end + 1);
        if is_close {
            return Some(Piece::Close(name));
        }
        if let Some(raw) = RAW.iter().find(|raw| raw.eq_ignore_ascii_case(name)) {
            self.skip_raw(raw);
        }
        Some(Piece::Open(name, attributes))
    }

    /// Passes over contents that end at their own closing tag, which stays.
    fn skip_raw(&mut self, name: &str) {
        let mut from = 0;
        while let Some(at) = self.rest.get(from..).and_then(|rest| rest.find("</")) {
            let start = from + at;
            let after = self.rest.get(start + 2..).unwrap_or_default();
            if after.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name)) {
                self.take(start);
                return;
            }
            from = start + 2;
        }
        self.rest = "";
    }
}

/// Where the `>` is that ends a tag; one inside quotes does not.
fn tag_end(attributes: &str) -> usize {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in attributes.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            // A quote opens a value only; elsewhere it is a letter of a broken name.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), _) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    attributes.len()
}

impl<'p> Iterator for Tags<'p> {
    type Item = Piece<'p>;

    fn next(&mut self) -> Option<Piece<'p>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if !self.rest.starts_with('<') {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Piece::Text(self.take(end)));
            }
            if self.rest.starts_with("<!--") {
                self.skip_past("-->");
            } else if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
                self.skip_past(">");
            } else if let Some(tag) = self.tag() {
                return Some(tag);
            } else {
                return Some(Piece::Text(self.take(1)));
            }
        }
    }
}

/// The value of an attribute.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(rest.len());
        let (own, tail) = rest.split_at_checked(end)?;
        let (value, tail) = match tail.trim_start().strip_prefix('=') {
            Some(value) => split_value(value.trim_start()),
            None => ("", tail),
        };
        if own.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        // Whatever stands where a name should, the next round starts behind it.
        let tail = if tail.len() == rest.len() { tail.get(1..).unwrap_or_default() } else { tail };
        rest = tail.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
    }
    None
}

fn split_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    let end = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Piece::{Close, Open, Text};

    #[test]
    fn a_page_is_texts_and_tags() {
        for (why, page, want) in [
            ("plain", "a<b>c</b>", vec![Text("a"), Open("b", ""), Text("c"), Close("b")]),
            ("comments go", "a<!-- <b> -->c", vec![Text("a"), Text("c")]),
            ("a comment without an end", "a<!-- b", vec![Text("a")]),
            ("declarations go", "<!DOCTYPE html><?xml?>a", vec![Text("a")]),
            ("a sign in quotes is no end", "<a title='x>y'>z", vec![Open("a", " title='x>y'"), Text("z")]),
            ("a lone sign is text", "1 < 2", vec![Text("1 "), Text("<"), Text(" 2")]),
            (
                "scripts go",
                "<script>if (a<b) '</b>'</script>c",
                vec![Open("script", ""), Close("script"), Text("c")],
            ),
            ("in capitals", "<SCRIPT>x</Script >c", vec![Open("SCRIPT", ""), Close("Script"), Text("c")]),
            ("a script without an end", "<script>x", vec![Open("script", "")]),
            ("a tag without an end", "a<b c", vec![Text("a"), Open("b", " c")]),
            ("a quote without an end", "a<b c='>d", vec![Text("a"), Open("b", " c='>d")]),
            ("letters of others", "é<p>ü</p>", vec![Text("é"), Open("p", ""), Text("ü"), Close("p")]),
        ] {
            assert_eq!(Tags::new(page).collect::<Vec<_>>(), want, "{why}");
        }
    }

    #[test]
    fn an_attribute_is_found_by_its_name() {
        for (attributes, want) in [
            (" href=\"/a?b=c\" class=x", Some("/a?b=c")),
            (" class='href=no' HREF = /b ", Some("/b")),
            (" data-href=x", None),
            (" disabled href='é'/", Some("é")),
            (" = = =\"\" href=z", Some("z")),
            (" href", Some("")),
        ] {
            assert_eq!(attribute(attributes, "href"), want, "`{attributes}`");
        }
    }
}
