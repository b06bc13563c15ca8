//! `append_file`: puts text behind a file's end.
//!
//! Invariant: appends from several processes at once all arrive, each whole.

use super::arguments::Arguments;
use super::failure::failed;
use super::file;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_policy::{Access, Subject};
use picoclaw_sandbox::files::{self, Write};
use picoclaw_sandbox::warden::Warden;

pub(super) struct AppendFile;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: Type::Text,
        need: Need::Required,
        about: "The file path to append to. It is created when it does not exist.",
    },
    Parameter {
        name: "content",
        kind: Type::Text,
        need: Need::Required,
        about: "The content to append. No newline is added.",
    },
];

impl Tool for AppendFile {
    fn name(&self) -> &'static str {
        "append_file"
    }

    fn about(&self) -> &'static str {
        "Append content to the end of a file."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, warden: &Warden, subject: &Subject) -> Reply {
        let path = arguments.text("path");
        if path.is_empty() {
            return file::no_path(warden, subject, self.name());
        }
        let permit = match file::admit(warden, subject, self.name(), Access::Write, path, Write) {
            Ok(permit) => permit,
            Err(reply) => return reply,
        };
        match files::append(permit, arguments.text("content").as_bytes(), warden.files()) {
            Ok(()) => Reply::Done(format!("Appended to {}", file::told(path))),
            Err(why) => failed("append to file", &why),
        }
    }
}
