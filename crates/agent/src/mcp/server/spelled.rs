//! Answers as they stand on the wire, spelled without the detour over a tree of values.
//!
//! Invariant: byte for byte what the protocol's own types would have written for the same reply.

use super::answer::{self, Line};
use super::client::Introduction;
use super::sheet::Pen;
use crate::call::Reply;
use rmcp::model::{RequestId, ServerJsonRpcMessage, ServerResult};
use std::io::{self, Write};

/// Writes the answer to the request `id`, a call of `tool` that came to `reply`.
pub(super) fn write(
    pen: &mut Pen<'_>,
    id: &RequestId,
    introduction: Introduction,
    tool: &str,
    reply: Reply,
) -> io::Result<()> {
    match reply {
        // Long texts: a file, a directory.
        Reply::Done(text) if tool != "exec" => done(pen, id, introduction, tool, &text)?,
        other => {
            let mut result = answer::of_reply(tool, other);
            // Only the revision without a handshake names the kind of a result.
            if introduction == Introduction::Handshake {
                result.result_type = None;
            }
            let message = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id.clone());
            serde_json::to_writer(&mut *pen, &message)?;
        }
    }
    pen.write_all(b"\n")
}

fn done(
    pen: &mut Pen<'_>,
    id: &RequestId,
    introduction: Introduction,
    tool: &str,
    text: &str,
) -> io::Result<()> {
    pen.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":")?;
    serde_json::to_writer(&mut *pen, id)?;
    pen.write_all(b",\"result\":{")?;
    if introduction == Introduction::EachRequest {
        pen.write_all(b"\"resultType\":\"complete\",")?;
    }
    pen.write_all(b"\"content\":[{\"type\":\"text\",\"text\":\"")?;
    pen.text(text)?;
    pen.write_all(b"\"}],\"structuredContent\":")?;
    if tool == "list_dir" {
        listing(pen, text)?;
    } else {
        pen.write_all(b"{\"text\":\"")?;
        pen.text(text)?;
        pen.write_all(b"\"}")?;
    }
    pen.write_all(b",\"isError\":false}}")
}

/// The lines of a listing, taken apart as [`answer::of_reply`] does. Most are files: they are spelled as they come.
fn listing(pen: &mut Pen<'_>, text: &str) -> io::Result<()> {
    let (mut directories, mut notes) = (Vec::new(), Vec::new());
    let files = text.lines().filter(|line| match answer::kind_of(line) {
        Line::File(_) => true,
        Line::Directory(name) => {
            directories.push(name);
            false
        }
        Line::Note => {
            notes.push(*line);
            false
        }
    });
    pen.write_all(b"{\"files\":[")?;
    strings(pen, files.map(|line| &line[answer::FILE.len()..]), b"\",\"")?;
    pen.write_all(b"],\"directories\":[")?;
    strings(pen, directories.into_iter(), b"\",\"")?;
    pen.write_all(b"]")?;
    if !notes.is_empty() {
        pen.write_all(b",\"note\":")?;
        strings(pen, notes.into_iter(), b"\\n")?;
    }
    pen.write_all(b"}")
}

/// Texts in one pair of quotes, with `between` between them; nothing at all when there is none.
fn strings<'t>(pen: &mut Pen<'_>, texts: impl Iterator<Item = &'t str>, between: &[u8]) -> io::Result<()> {
    let mut opening: &[u8] = b"\"";
    for text in texts {
        pen.write_all(opening)?;
        pen.text(text)?;
        opening = between;
    }
    if opening == between { pen.write_all(b"\"") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::sheet::Sheet;
    use super::*;
    use picoclaw_policy::{Code, Layer, Refusal};

    #[test]
    fn an_answer_is_spelled_as_the_protocols_own_types_spell_it() {
        let no = Refusal {
            code: Code::OutsideWorkspace,
            sentence: "access denied".to_owned(),
            rule: "workspace".to_owned(),
            layer: Layer::Policy,
            hint: "add a \"rule\"".to_owned(),
        };
        let done = |text: &str| Reply::Done(text.to_owned());
        let long = "buy milk\n\t\"now\"\u{1}é😀".repeat(20_000);
        for (why, tool, reply) in [
            ("text", "read_file", done("a\n\"b\" \\ \u{1b} é")),
            ("no text", "read_file", done("")),
            ("a long text", "read_file", done(&long)),
            ("a confirmation", "write_file", done("File written: a")),
            ("an empty directory", "list_dir", done("")),
            ("a listing", "list_dir", done("DIR: d\nFILE: a\"b\nFILE: c\\\nDIR: e")),
            ("files alone", "list_dir", done("FILE: a")),
            ("a page of one", "list_dir", done("FILE: a\n[truncated: \"offset\": 1]\nand more")),
            ("a file that looks like a directory", "list_dir", done("FILE: DIR: x\nFILE: ")),
            ("failed", "read_file", Reply::Failed("failed to read file: file not found".to_owned())),
            ("refused", "read_file", Reply::Refused(no)),
            ("a command", "exec", done("{\"sessionId\":\"1\"}")),
        ] {
            for (id, introduction) in [
                (RequestId::Number(7), Introduction::Handshake),
                (RequestId::String("a \"b\"".into()), Introduction::EachRequest),
            ] {
                let mut result = answer::of_reply(tool, reply.clone());
                result.result_type = result.result_type.filter(|_| introduction == Introduction::EachRequest);
                let message =
                    ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id.clone());
                let want = serde_json::to_string(&message).unwrap() + "\n";
                let (mut sheet, mut out) = (Sheet::default(), Vec::new());
                let mut pen = sheet.begin(&mut out);
                write(&mut pen, &id, introduction, tool, reply.clone()).unwrap();
                pen.end().unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), want, "{why}");
            }
        }
    }
}
