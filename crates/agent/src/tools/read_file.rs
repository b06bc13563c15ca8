//! `read_file`: returns UTF-8 text unchanged, in pages when it is long.

use super::arguments::Arguments;
use super::context::ToolContext;
use super::file_access::{self, failed};
use super::pending::Outcome;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_policy::Access;
use picoclaw_sandbox::files::{self, Read, ReadStep};
use picoclaw_sandbox::permit::Permit;
use picoclaw_sandbox::root::{Excerpt, More, Span};

pub(super) struct ReadFile {
    /// Bytes in one reply.
    pub(super) max_bytes: u64,
}

/// Bytes that are read at once while lines are counted.
const CHUNK_BYTES: usize = 256 << 10;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: Type::Text,
        need: Need::Required,
        about: "Path to the file to read. Can be absolute or relative to the workspace.",
    },
    Parameter {
        name: "offset",
        kind: Type::Count,
        need: Need::Optional,
        about: "Byte to begin at. Default: 0.",
    },
    Parameter { name: "length", kind: Type::Count, need: Need::Optional, about: "The most bytes to return." },
    Parameter {
        name: "start_line",
        kind: Type::Count,
        need: Need::Optional,
        about: "Line to begin at, counted from 1. Not together with `offset` or `length`.",
    },
    Parameter {
        name: "max_lines",
        kind: Type::Count,
        need: Need::Optional,
        about: "The most lines to return. Not together with `offset` or `length`.",
    },
];

impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn about(&self) -> &'static str {
        "Read the contents of a file. Long files come in pages; the last line then says how to go on."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        self.attempt(arguments, context).into()
    }
}

impl ReadFile {
    fn attempt(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let path = arguments.text("path");
        let part = Part::parse(arguments, self.max_bytes)
            .map_err(|sentence| file_access::invalid(context, self.name(), sentence))?;
        let permit = file_access::admit(context, self.name(), Access::Read, path, Read)?;
        Ok(match part {
            Part::Bytes { offset, length, limit } => bytes(permit, offset, length, limit),
            Part::Lines { first, most } => lines(permit, first, most, self.budget()),
        })
    }

    fn budget(&self) -> usize {
        usize::try_from(self.max_bytes).unwrap_or(usize::MAX)
    }
}

/// The part to read.
enum Part {
    Bytes { offset: u64, length: usize, limit: Limit },
    Lines { first: u64, most: u64 },
}

/// What set the end of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The caller, who knows that there may be more.
    Requested,
    /// The configuration; a note says that there is more.
    Page,
}

impl Part {
    fn parse(arguments: &Arguments<'_>, max: u64) -> Result<Self, &'static str> {
        let (offset, length) = (arguments.count("offset"), arguments.count("length"));
        let (first, most) = (arguments.count("start_line"), arguments.count("max_lines"));
        if (first.is_some() || most.is_some()) && (offset.is_some() || length.is_some()) {
            return Err("`start_line` and `max_lines` do not go together with `offset` and `length`");
        }
        if first == Some(0) {
            return Err("start_line must be >= 1");
        }
        if most == Some(0) {
            return Err("max_lines, if provided, must be > 0");
        }
        if length == Some(0) {
            return Err("length must be > 0");
        }
        if first.is_some() || most.is_some() {
            return Ok(Self::Lines { first: first.unwrap_or(1), most: most.unwrap_or(u64::MAX) });
        }
        let limit = if length.is_some_and(|length| length <= max) { Limit::Requested } else { Limit::Page };
        let length = usize::try_from(length.unwrap_or(max).min(max)).unwrap_or(usize::MAX);
        Ok(Self::Bytes { offset: offset.unwrap_or(0), length, limit })
    }
}

fn bytes(permit: Permit<Read>, offset: u64, length: usize, limit: Limit) -> Reply {
    let excerpt = match files::read(permit, Span { offset, length }) {
        Ok(excerpt) => excerpt,
        Err(error) => return failed("read file", &error),
    };
    if offset > 0 && excerpt.bytes.is_empty() {
        return beyond_end(offset, excerpt.total);
    }
    let Excerpt { bytes, total, more } = excerpt;
    let mut text = match to_text(bytes, more, offset) {
        Ok(text) => text,
        Err(reply) => return reply,
    };
    if more == More::Follows && limit == Limit::Page {
        let next = offset + text.len() as u64;
        let of = total.map_or_else(String::new, |total| format!(" of {total}"));
        let last = next.saturating_sub(1);
        push_note(
            &mut text,
            &format!("[truncated: bytes {offset}-{last}{of} shown; go on with \"offset\": {next}]"),
        );
    }
    Reply::Done(text)
}

/// Reads through the file to the requested lines, holding no more than a page.
fn lines(permit: Permit<Read>, first: u64, most: u64, budget: usize) -> Reply {
    let mut seeker =
        LineSeeker { first, most, budget, line: 1, at: 0, page: Vec::new(), state: Seeking::Going };
    let outcome = files::read_through(permit, |excerpt| seeker.next(excerpt));
    if let Err(error) = outcome {
        return failed("read file", &error);
    }
    let LineSeeker { line, page, state, .. } = seeker;
    if page.is_empty() && first > 1 {
        let have = line - 1;
        return Reply::Failed(format!(
            "failed to read file: start_line {first} is beyond the end of the file ({have} lines)"
        ));
    }
    let more = if state == Seeking::Full { More::Follows } else { More::End };
    let mut text = match to_text(page, more, 0) {
        Ok(text) => text,
        Err(reply) => return reply,
    };
    if state == Seeking::Full {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole == 0 {
            return Reply::Failed(format!(
                "failed to read file: line {first} is longer than {budget} bytes\nhint: read it with \"offset\" and \"length\""
            ));
        }
        text.truncate(whole);
        let next = first + text.matches('\n').count() as u64;
        push_note(
            &mut text,
            &format!("[truncated: lines {first}-{} shown; go on with \"start_line\": {next}]", next - 1),
        );
    }
    Reply::Done(text)
}

/// Counts line ends on the way to the requested lines.
struct LineSeeker {
    first: u64,
    most: u64,
    budget: usize,
    /// The line that the next byte belongs to.
    line: u64,
    /// The next byte.
    at: u64,
    page: Vec<u8>,
    state: Seeking,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seeking {
    Going,
    /// The requested lines are complete, or the file has ended.
    Done,
    /// The page is full before the requested lines are complete.
    Full,
}

impl LineSeeker {
    fn next(&mut self, excerpt: Option<Excerpt>) -> ReadStep<()> {
        if let Some(excerpt) = excerpt {
            self.at += excerpt.bytes.len() as u64;
            self.take(&excerpt.bytes);
            if self.state == Seeking::Going && (excerpt.more == More::End || excerpt.bytes.is_empty()) {
                self.state = Seeking::Done;
                // A last line without a line end counts.
                if excerpt.bytes.last().is_some_and(|byte| *byte != b'\n') {
                    self.line += 1;
                }
            }
        }
        match self.state {
            Seeking::Going => ReadStep::Read(Span { offset: self.at, length: CHUNK_BYTES }),
            Seeking::Done | Seeking::Full => ReadStep::Done(()),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line >= self.first {
                if self.line - self.first >= self.most {
                    self.state = Seeking::Done;
                    return;
                }
                if self.page.len() + piece.len() > self.budget {
                    self.page.extend_from_slice(&piece[..self.budget - self.page.len()]);
                    self.state = Seeking::Full;
                    return;
                }
                self.page.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.line += 1;
            }
        }
    }
}

/// The bytes as text. A character that is split by the end of the page is left to the next page.
fn to_text(mut bytes: Vec<u8>, more: More, offset: u64) -> Result<String, Reply> {
    if more == More::Follows
        && let Err(fault) = std::str::from_utf8(&bytes)
        && fault.error_len().is_none()
        && fault.valid_up_to() > 0
    {
        bytes.truncate(fault.valid_up_to());
    }
    String::from_utf8(bytes).map_err(|fault| {
        let at = offset + fault.utf8_error().valid_up_to() as u64;
        let is_inside =
            offset > 0 && at == offset && fault.as_bytes().first().is_some_and(|b| b & 0xC0 == 0x80);
        let hint = if is_inside {
            "\nhint: the offset is inside a character; begin a byte or two earlier"
        } else {
            ""
        };
        Reply::Failed(format!("failed to read file: not UTF-8 text (byte {at}){hint}"))
    })
}

fn beyond_end(offset: u64, total: Option<u64>) -> Reply {
    let size = total.map_or_else(String::new, |total| format!(" ({total} bytes)"));
    Reply::Failed(format!("failed to read file: offset {offset} is beyond the end of the file{size}"))
}

/// Appends a note on a line of its own.
fn push_note(text: &mut String, note: &str) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(note);
}
