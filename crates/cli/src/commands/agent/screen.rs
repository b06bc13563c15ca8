//! The terminal of an interactive session: scrolling output, and a status line below it.
//!
//! Untrusted text is escaped before it is written. The status line is erased before other output.

use super::markdown::Markdown;
use super::sanitize_stream::{StreamSanitizer, sanitize};
use crate::style::{Liveness, Style, Tone, size, wrap};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The screen, shared by turn, keyboard and log.
#[derive(Clone)]
pub(super) struct Screen(Arc<Mutex<Inner>>);

struct Inner {
    out: Box<dyn Write + Send>,
    style: Style,
    liveness: Liveness,
    /// Whether the last line has no line break yet.
    is_open: bool,
    /// The state of the status line, if it is drawn.
    status: Option<LineState>,
    sanitizer: StreamSanitizer,
    /// Styles the answers of a model.
    markdown: Option<Markdown>,
    /// Lines that wait for the end of a streamed line.
    waiting: String,
}

/// What answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerText {
    /// The output of a tool.
    Plain,
    /// A model's.
    Markdown,
}

/// The position of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// On the line that is written next.
    Here,
    /// Below an unfinished line; the cursor position is saved.
    Below,
}

impl Screen {
    /// A screen on `out`.
    pub(super) fn new(out: Box<dyn Write + Send>, style: Style, liveness: Liveness) -> Self {
        let inner = Inner {
            out,
            style,
            liveness,
            is_open: false,
            status: None,
            sanitizer: StreamSanitizer::default(),
            markdown: None,
            waiting: String::new(),
        };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// The style.
    pub(super) fn style(&self) -> Style {
        self.lock().style
    }

    /// Whether lines can be redrawn.
    pub(super) fn liveness(&self) -> Liveness {
        self.lock().liveness
    }

    /// What the answers of the next turn are. Without colours they are shown as they are written.
    pub(super) fn expect(&self, answer: AnswerText) {
        let mut inner = self.lock();
        let is_styled = answer == AnswerText::Markdown && inner.style.is_coloured();
        inner.markdown = is_styled.then(Markdown::default);
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        size(std::io::stdout())
    }

    /// A streamed piece of an answer; untrusted.
    pub(super) fn piece(&self, piece: &str) {
        let mut inner = self.lock();
        let text = inner.sanitizer.next(piece);
        let width = inner.line_width();
        let text = inner.markdown.as_mut().map_or(text.clone(), |markdown| markdown.next(&text, width));
        inner.write_open(&text);
    }

    /// The streamed answer is complete.
    pub(super) fn end_pieces(&self) {
        let mut inner = self.lock();
        let rest = inner.sanitizer.end();
        let width = inner.line_width();
        let rest = match &mut inner.markdown {
            Some(markdown) => markdown.next(&rest, width) + &markdown.end(),
            None => rest,
        };
        inner.write_open(&rest);
        inner.close_line();
    }

    /// Whole lines of untrusted text.
    pub(super) fn text(&self, text: &str) {
        let text = sanitize(text);
        let mut inner = self.lock();
        let width = inner.line_width();
        let styled = inner.markdown.as_mut().map(|markdown| markdown.next(&text, width) + &markdown.end());
        drop(inner);
        self.lines(styled.as_deref().unwrap_or(&text).trim_end_matches('\n'));
    }

    /// Trusted text in lines that are broken between words.
    pub(super) fn prose(&self, text: &str, tone: Tone) {
        let (style, (width, _)) = (self.style(), self.size());
        for line in text.lines() {
            for row in wrap(line, width.saturating_sub(1), 0) {
                self.lines(&style.paint(tone, &row));
            }
        }
    }

    /// The same for one line that may contain colours.
    pub(super) fn wrapped(&self, line: &str) {
        let (width, _) = self.size();
        let hang = if line.starts_with("  ") { 4 } else { 0 };
        wrap(line, width.saturating_sub(1), hang).iter().for_each(|row| self.lines(row));
    }

    /// Whole lines of trusted text, which may contain colours.
    pub(super) fn lines(&self, text: &str) {
        let mut inner = self.lock();
        inner.close_line();
        inner.write(text);
        inner.write("\n");
        inner.flush();
    }

    /// The same for a line that does not tear a streamed one: it follows its end.
    pub(super) fn line_between(&self, text: &str) {
        let mut inner = self.lock();
        inner.waiting.push_str(&format!("{text}\n"));
        if !inner.is_open {
            inner.close_line();
            inner.flush();
        }
    }

    /// A trusted prompt.
    pub(super) fn ask(&self, text: &str) {
        let mut inner = self.lock();
        inner.close_line();
        inner.write(text);
        inner.flush();
        inner.is_open = true;
    }

    /// Echoes a key after [`Screen::ask`].
    pub(super) fn echo(&self, text: &str) {
        let mut inner = self.lock();
        inner.write(text);
        inner.flush();
    }

    /// The terminal ended the line of [`Screen::ask`].
    pub(super) fn line_entered(&self) {
        self.lock().is_open = false;
    }

    /// Draws the status line, one column short of the width so that it never wraps.
    pub(super) fn status(&self, text: &str) {
        let mut inner = self.lock();
        if inner.liveness == Liveness::Still {
            return;
        }
        match inner.status {
            Some(_) => inner.write("\r\x1b[K"),
            // The status line is created first, so that the cursor is saved after any scrolling.
            None if inner.is_open => {
                inner.write("\x1bD\x1b[A\x1b7\x1b[B\r\x1b[K");
                inner.status = Some(LineState::Below);
            }
            None => {
                inner.write("\r\x1b[K");
                inner.status = Some(LineState::Here);
            }
        }
        inner.write(text);
        inner.flush();
    }

    /// Erases the status line.
    pub(super) fn clear_status(&self) {
        let mut inner = self.lock();
        inner.clear_status();
        inner.flush();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The columns in which an answer is broken; 0 where it is not shown on a terminal.
    fn line_width(&self) -> usize {
        if self.liveness == Liveness::Live { size(std::io::stdout()).0 } else { 0 }
    }

    fn write_open(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_status();
        match text.find('\n') {
            Some(end) if !self.waiting.is_empty() => {
                self.write(&text[..=end]);
                let waiting = std::mem::take(&mut self.waiting);
                self.write(&waiting);
                self.write(&text[end + 1..]);
            }
            _ => self.write(text),
        }
        self.is_open = !text.ends_with('\n');
        self.flush();
    }

    fn close_line(&mut self) {
        self.clear_status();
        if std::mem::take(&mut self.is_open) {
            self.write("\n");
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.write(&waiting);
    }

    fn clear_status(&mut self) {
        match self.status.take() {
            Some(LineState::Here) => self.write("\r\x1b[K"),
            Some(LineState::Below) => self.write("\r\x1b[K\x1b8"),
            None => {}
        }
    }

    /// A failed write is ignored; the session ends with its keyboard.
    fn write(&mut self, text: &str) {
        let _gone = self.out.write_all(text.as_bytes());
    }

    fn flush(&mut self) {
        let _gone = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn drawn(liveness: Liveness, work: impl FnOnce(&Screen)) -> String {
        let paper = Paper::default();
        let style = Style::of_environment(|_| None, Liveness::Still);
        work(&Screen::new(Box::new(paper.clone()), style, liveness));
        String::from_utf8(paper.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_line_between_waits_for_the_end_of_a_streamed_one() {
        let shown = drawn(Liveness::Still, |screen| {
            screen.piece("one");
            screen.line_between("> typed");
            screen.piece(" two\nthree");
            screen.line_between("> more");
            screen.end_pieces();
            screen.line_between("> last");
        });
        assert_eq!(shown, "one two\n> typed\nthree\n> more\n> last\n");
    }

    #[test]
    fn the_status_line_is_gone_before_anything_else_appears() {
        let text = drawn(Liveness::Live, |screen| {
            screen.status("working");
            screen.lines("done");
            screen.piece("half a ");
            screen.status("more");
            screen.piece("line");
            screen.end_pieces();
        });
        assert_eq!(
            text,
            "\r\u{1b}[Kworking\r\u{1b}[Kdone\nhalf a \u{1b}D\u{1b}[A\u{1b}7\u{1b}[B\r\u{1b}[Kmore\r\u{1b}[K\u{1b}8line\n"
        );
    }

    #[test]
    fn where_nothing_can_be_drawn_over_no_sequence_is_written() {
        let text = drawn(Liveness::Still, |screen| {
            screen.status("working");
            screen.piece("a\u{1b}[31m");
            screen.clear_status();
            screen.end_pieces();
            screen.text("b\u{202e}\r\n");
        });
        assert_eq!(text, "a\\u{1b}[31m\nb\\u{202e}\n");
    }
}
