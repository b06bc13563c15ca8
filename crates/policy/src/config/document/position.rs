//! Byte offsets to lines and columns. Both start at one; columns count characters.

/// `text` without a byte order mark.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The line starts of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the line starts of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line of the byte at `offset`.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// Line and column of the byte at `offset`.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or("");
        (line, before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters() {
        let text = "{\r\n  \"ä\": 1\n}";
        let lines = Lines::new(text);
        for (why, needle, want) in
            [("the top", "{", (1, 1)), ("after an umlaut", ": 1", (2, 6)), ("the last line", "}", (3, 1))]
        {
            assert_eq!(lines.position(text.find(needle).unwrap()), want, "{why}");
        }
        assert_eq!(lines.position(text.len()), (3, 2), "the end of the text has a place too");
    }
}
