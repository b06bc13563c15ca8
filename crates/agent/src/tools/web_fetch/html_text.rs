//! HTML as text that a model can read: plain, or as Markdown. Scripts, styles and markup are left
//! out.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use picoclaw_policy::network::WebAddress;
use picoclaw_sandbox::outbound::{WaitEnded, WaitLimit};
use std::cell::RefCell;

/// What a page is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Markdown,
}

/// Elements whose contents are left out.
const SKIPPED: &[&str] = &[
    "svg", "math", "template", "noscript", "object", "canvas", "audio", "video", "script", "style", "iframe",
    "noembed", "noframes", "xmp",
];

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

/// Bytes that are tokenized between two looks at the deadline. The tokenizer compares each
/// attribute of a tag with all others, so a hostile page can take long.
const CHUNK_BYTES: usize = 4096;

/// The text of `page`, which came from `base`; no more of it than `max_chars` need.
pub(super) fn html_text(
    page: &str,
    base: &WebAddress,
    format: Format,
    max_chars: usize,
    limit: &WaitLimit,
) -> Result<String, WaitEnded> {
    // Four bytes hold any character.
    let max_bytes = max_chars.saturating_mul(4);
    let writer = Writer::new(base, format, max_bytes);
    let tokenizer = Tokenizer::new(PageSink(RefCell::new(writer)), TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = page;
    while !rest.is_empty() && !tokenizer.sink.0.borrow().is_full() {
        limit.left()?;
        let (chunk, tail) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES));
        input.push_back(StrTendril::from_slice(chunk));
        // The sink never suspends the tokenizer for a script.
        let _ = tokenizer.feed(&input);
        rest = tail;
    }
    tokenizer.end();
    let mut out = tokenizer.sink.0.into_inner().out;
    out.truncate(out.trim_end().len());
    Ok(out)
}

/// Receives the tokens of a page.
struct PageSink<'b>(RefCell<Writer<'b>>);

impl TokenSink for PageSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            _ if writer.is_full() => {}
            Token::CharacterTokens(text) if writer.skipped.is_none() => writer.text(&text),
            Token::TagToken(tag) => return writer.tag(&tag),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// How the tokenizer reads what follows a start tag.
fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => Some(RawKind::Rawtext),
        "title" | "textarea" => Some(RawKind::Rcdata),
        _ => None,
    }
}

struct Writer<'b> {
    out: String,
    format: Format,
    base: &'b WebAddress,
    max_bytes: usize,
    /// The element that is being left out, and how deep it is nested in itself.
    skipped: Option<(String, usize)>,
    /// Line ends that are due before the next letter.
    lines: usize,
    /// Whether a space is due before the next letter.
    space: bool,
    pre: usize,
    links: Vec<Option<String>>,
}

impl<'b> Writer<'b> {
    fn new(base: &'b WebAddress, format: Format, max_bytes: usize) -> Self {
        Self {
            out: String::new(),
            format,
            base,
            max_bytes,
            skipped: None,
            lines: 0,
            space: false,
            pre: 0,
            links: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() > self.max_bytes
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        let raw = (tag.kind == TagKind::StartTag).then(|| raw_kind(name)).flatten();
        match &mut self.skipped {
            // In SVG and MathML a tag can close itself, and has no contents then.
            Some(_) if tag.self_closing => return TokenSinkResult::Continue,
            Some((skipped, depth)) if skipped == name => {
                *depth = if tag.kind == TagKind::StartTag { *depth + 1 } else { *depth - 1 };
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            Some(_) => {}
            None if tag.kind == TagKind::EndTag => self.close(name),
            None if SKIPPED.contains(&name) => {
                if raw.is_some() || !tag.self_closing {
                    self.skipped = Some((name.to_owned(), 1));
                }
            }
            None => self.open(name, tag),
        }
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
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

    fn open(&mut self, name: &str, tag: &Tag) {
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
            "a" if self.format == Format::Markdown => self.link(tag),
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

    /// A link to another page. Of a link to anything else (`javascript:`, `#here`) the text alone
    /// is kept.
    fn link(&mut self, tag: &Tag) {
        let href = tag.attrs.iter().find(|attribute| &*attribute.name.local == "href");
        let href = href.map(|attribute| &*attribute.value).filter(|href| !href.starts_with('#'));
        let href = href.filter(|href| !href.is_empty());
        let target = href.and_then(|href| self.base.follow(href).ok()).map(|target| target.to_string());
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

    fn minute() -> WaitLimit {
        WaitLimit::new(std::time::Duration::from_secs(60), &picoclaw_sandbox::launch::CancelToken::new())
    }

    fn render(page: &str, format: Format) -> String {
        html_text(page, &WebAddress::parse("http://a.example/d/").unwrap(), format, 10_000, &minute())
            .unwrap()
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
            (
                "references",
                "a &amp; b &lt;script&gt; &#233;&#xE9; &#150; &nope;",
                "a & b <script> éé – &nope;",
            ),
            ("comments and declarations go", "<!DOCTYPE html><?xml?>a<!-- <b> -->c<!-- d", "ac"),
            ("a sign in quotes is no end", "<i title='x>y'>z</i>", "z"),
            ("a lone sign is text", "1 < 2", "1 < 2"),
            ("a script in capitals", "<SCRIPT>x</Script >c", "c"),
            ("a script without an end", "a<script>x", "a"),
            ("a title holds no tags", "<title>a<b></title>c", "a<b>\n\nc"),
            ("a drawing's empty title", "<svg><title/><style>p{}</style></svg>a", "a"),
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
            (
                "an attribute is found by its name",
                "<a class='href=no' data-href=x HREF = /b>x</a>",
                "[x](http://a.example/b)",
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
        assert!(html_text(&page, &base, Format::Markdown, 1000, &minute()).unwrap().len() < 20_000);
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
            render(&page, Format::Markdown);
        }
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }

    #[test]
    fn a_page_that_takes_longer_than_the_deadline_is_given_up() {
        let soon = WaitLimit::new(
            std::time::Duration::from_millis(200),
            &picoclaw_sandbox::launch::CancelToken::new(),
        );
        let attributes: String = (0..1_000_000).map(|n| format!(" a{n}")).collect();
        let page = format!("<p{attributes}>x");
        let base = WebAddress::parse("http://a.example/").unwrap();
        let began = std::time::Instant::now();
        assert_eq!(html_text(&page, &base, Format::Plain, 1000, &soon), Err(WaitEnded::Deadline));
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
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
