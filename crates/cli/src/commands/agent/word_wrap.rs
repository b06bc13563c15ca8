//! Breaks the lines of a text between words as it streams.

use unicode_width::UnicodeWidthChar;

/// The text so far. A word is held back until it is whole.
#[derive(Debug, Default)]
pub(super) struct WordWrap {
    /// The columns of a line; 0 for lines of any length.
    pub(super) width: usize,
    out: String,
    column: usize,
    /// Where the lines after the first of a paragraph begin.
    indent: usize,
    word: String,
    word_width: usize,
}

impl WordWrap {
    /// A character of a text.
    pub(super) fn push(&mut self, c: char) {
        if c == ' ' || c == '\n' {
            self.end_word();
            self.write(c);
            return;
        }
        self.word.push(c);
        self.word_width += c.width().unwrap_or(0);
        if self.width > 0 && self.indent + self.word_width >= self.width {
            self.end_word();
        }
    }

    /// A sequence that has no width.
    pub(super) fn push_style(&mut self, sequence: &str) {
        self.word.push_str(sequence);
    }

    /// A character of a line that is not broken.
    pub(super) fn push_unbroken(&mut self, c: char) {
        self.end_word();
        self.write(c);
    }

    /// Later lines of this paragraph begin below what follows.
    pub(super) fn indent_here(&mut self) {
        self.end_word();
        self.indent = self.column;
    }

    /// What can be shown.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Completes the last word.
    pub(super) fn end_word(&mut self) {
        let fits = self.word_width == 0 || self.column + self.word_width <= self.width;
        if self.width > 0 && !fits && self.column > self.indent {
            self.out.push('\n');
            self.out.push_str(&" ".repeat(self.indent));
            self.column = self.indent;
        }
        self.out.push_str(&self.word);
        self.column += self.word_width;
        self.word.clear();
        self.word_width = 0;
    }

    fn write(&mut self, c: char) {
        match c {
            '\n' => (self.column, self.indent) = (0, 0),
            // The line break that follows stands for it.
            ' ' if self.width > 0 && self.column == self.width => return,
            c => self.column += c.width().unwrap_or(0),
        }
        self.out.push(c);
    }
}
