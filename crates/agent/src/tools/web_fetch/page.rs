//! A page as text a model can read: plain, or with the marks of Markdown.
//!
//! Invariant: no script, no style, no markup; never much longer than was asked for.

use super::entities;
use super::tags::{Piece, Tags, attribute};
use picoclaw_policy::network::WebAddress;

/// What a page is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Markdown,
}

/// Elements whose contents are not part of what is read.
const UNREAD: &[&str] = &["svg", "math", "template", "noscript", "object", "canvas", "audio", "video"];

/// Elements that begin on a line of their own.
const LINES: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "dd",
    "details",
    "div",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "head",
    "header",
    "html",
    "legend",
    "li",
    "main",
    "nav",
    "option",
    "section",
    "summary",
    "tr",
];

/// Elements with an empty line around them.
const PARAGRAPHS: &[&str] =
    &["blockquote", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "title", "ul"];

/// The text of `page`, which came from `base`; no more of it than `most` characters need.
pub(super) fn text(page: &str, base: &WebAddress, format: Format, most: usize) -> String {
    let mut writer = Writer { format, base, ..Writer::new(base) };
    // Four bytes hold any character; beyond that nobody would see the rest.
    let enough = most.saturating_mul(4);
    let mut unread: Option<(String, usize)> = None;
    for piece in Tags::new(page) {
        if let Some((name, depth)) = &mut unread {
            match piece {
                Piece::Open(own, attributes)
                    if own.eq_ignore_ascii_case(name) && !attributes.ends_with('/') =>
                {
                    *depth += 1;
                }
                Piece::Close(own) if own.eq_ignore_ascii_case(name) => *depth -= 1,
                _ => {}
            }
            if *depth == 0 {
                unread = None;
            }
            continue;
        }
        match piece {
            Piece::Text(text) => writer.text(&entities::decode(text)),
            Piece::Open(name, attributes) => {
                let name = name.to_ascii_lowercase();
                if UNREAD.contains(&name.as_str()) {
                    unread = (!attributes.ends_with('/')).then_some((name, 1));
                } else {
                    writer.open(&name, attributes);
                }
            }
            Piece::Close(name) => writer.close(&name.to_ascii_lowercase()),
        }
        if writer.out.len() > enough {
            break;
        }
    }
    writer.out.truncate(writer.out.trim_end().len());
    writer.out
}

struct Writer<'b> {
    out: String,
    format: Format,
    base: &'b WebAddress,
    /// Line ends that are due before the next letter.
    lines: usize,
    /// Whether a space is due before the next letter.
    space: bool,
    pre: usize,
    links: Vec<Option<String>>,
}

impl<'b> Writer<'b> {
    fn new(base: &'b WebAddress) -> Self {
        Self {
            out: String::new(),
            format: Format::Plain,
            base,
            lines: 0,
            space: false,
            pre: 0,
            links: Vec::new(),
        }
    }

    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            self.due();
            self.out.extend(text.chars().filter(|c| *c != '\r'));
            return;
        }
        for (nth, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= nth > 0;
            if !word.is_empty() {
                self.due();
                self.out.push_str(word);
            }
        }
    }

    /// Writes what is due before a letter.
    fn due(&mut self) {
        if self.out.is_empty() {
            self.lines = 0;
        }
        if self.lines > 0 {
            self.out.extend(std::iter::repeat_n('\n', self.lines));
        } else if self.space && !self.out.is_empty() && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.lines = 0;
        self.space = false;
    }

    fn mark(&mut self, mark: &str) {
        self.due();
        self.out.push_str(mark);
    }

    fn apart(&mut self, name: &str) {
        let lines = match name {
            _ if LINES.contains(&name) => 1,
            _ if PARAGRAPHS.contains(&name) => 2,
            _ => return,
        };
        self.lines = self.lines.max(lines);
        self.space = false;
    }

    fn open(&mut self, name: &str, attributes: &str) {
        self.apart(name);
        match name {
            "br" => self.lines = (self.lines + 1).min(2),
            "hr" => self.lines = 2,
            "li" => self.mark("- "),
            "td" | "th" if self.lines == 0 && !self.out.is_empty() => {
                self.space = true;
                self.mark("| ");
            }
            "pre" => {
                if self.format == Format::Markdown {
                    self.mark("```\n");
                }
                self.pre += 1;
            }
            "a" if self.format == Format::Markdown => self.link(attributes),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.format == Format::Markdown => {
                let depth = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.mark(&format!("{} ", "#".repeat(depth)));
            }
            "code" if self.format == Format::Markdown && self.pre == 0 => self.mark("`"),
            "strong" | "b" if self.format == Format::Markdown && self.pre == 0 => self.mark("**"),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if self.format == Format::Markdown {
                    self.lines = usize::from(!self.out.ends_with('\n'));
                    self.mark("```");
                }
            }
            "a" => {
                if let Some(target) = self.links.pop().flatten() {
                    self.out.push_str(&format!("]({target})"));
                }
            }
            // Marks that close stand directly behind their word.
            "code" if self.format == Format::Markdown && self.pre == 0 => self.out.push('`'),
            "strong" | "b" if self.format == Format::Markdown && self.pre == 0 => self.out.push_str("**"),
            _ => {}
        }
        self.apart(name);
    }

    /// A link to another page; one to anything else (`javascript:`, `#here`) is its text alone.
    fn link(&mut self, attributes: &str) {
        let href = attribute(attributes, "href").map(entities::decode).unwrap_or_default();
        let elsewhere = !href.is_empty() && !href.starts_with('#');
        let target =
            elsewhere.then(|| self.base.follow(&href).ok()).flatten().map(|target| target.to_string());
        if target.is_some() {
            self.mark("[");
        }
        self.links.push(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn render(page: &str, format: Format) -> String {
        text(page, &WebAddress::parse("http://a.example/d/").unwrap(), format, 10_000)
    }

    #[test]
    fn a_page_reads_like_text() {
        for (why, page, want) in [
            ("paragraphs", "<p>one\n two</p><p>three</p>", "one two\n\nthree"),
            ("inline tags leave no gaps", "<p>a<b>b</b>c <i>d</i> e</p>", "abc d e"),
            (
                "the title is read, styles are not",
                "<head><title>T</title><style>p{}</style></head><body>b",
                "T\n\nb",
            ),
            ("scripts are not", "a<script>alert('<p>')</script>b", "ab"),
            ("lists", "<ul><li>one<li>two</ul>x", "- one\n- two\n\nx"),
            ("tables", "<table><tr><td>a<td>b</tr><tr><td>c<td>d</table>", "a | b\nc | d"),
            ("line breaks", "a<br>b<br/><br>c", "a\nb\n\nc"),
            ("as it is written", "<pre>a\n  b\r\n</pre>c", "a\n  b\n\n\nc"),
            ("references", "a &amp; b &lt;script&gt;", "a & b <script>"),
            ("drawings are not read", "a<svg><text>x<svg></svg></text></svg>b<svg/>c", "abc"),
            ("nothing", "", ""),
            ("left open", "<div><p>a<span", "a"),
        ] {
            assert_eq!(render(page, Format::Plain), want, "{why}");
        }
    }

    #[test]
    fn markdown_keeps_headings_links_and_code() {
        for (why, page, want) in [
            ("headings", "<h2>Two</h2>text", "## Two\n\ntext"),
            (
                "links are whole",
                "see <a href='../x?a=1&amp;b=2'>this</a>.",
                "see [this](http://a.example/x?a=1&b=2).",
            ),
            ("a link to a script is its text", "<a href='javascript:alert(1)'>x</a>", "x"),
            ("a link within the page too", "<a href='#top'>x</a> <a>y</a>", "x y"),
            ("code", "<p>run <code>ls</code> <b>now</b></p>", "run `ls` **now**"),
            ("a block of code", "<pre>a\nb</pre>c", "```\na\nb\n```\n\nc"),
        ] {
            assert_eq!(render(page, Format::Markdown), want, "{why}");
        }
    }

    #[test]
    fn a_page_that_unfolds_stops_when_there_is_enough() {
        let base = WebAddress::parse(&format!("http://a.example/{}/", "x".repeat(4000))).unwrap();
        let page = "<a href=y>z</a>".repeat(100_000);
        assert!(text(&page, &base, Format::Markdown, 1000).len() < 20_000);
    }

    #[test]
    fn hostile_pages_take_linear_time() {
        let began = std::time::Instant::now();
        for unit in [
            "<",
            "<a ",
            "</",
            "<!--",
            "&",
            "<script>",
            "<svg>",
            "<b c='",
            "<pre>",
            "&#1",
            "<a href=\"#\">",
            "< /",
            "<p a=b c ",
        ] {
            let page = unit.repeat(100_000);
            text(&page, &WebAddress::parse("http://a.example/").unwrap(), Format::Markdown, 50_000);
        }
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn no_page_breaks_it(page in "(<|>|/|!|-|a|b|=|'|\"| |&|;|#|script|svg|pre|é|\n){0,60}") {
            for format in [Format::Plain, Format::Markdown] {
                let out = render(&page, format);
                prop_assert!(!out.starts_with(char::is_whitespace) || page.contains("pre"));
            }
        }
    }
}
