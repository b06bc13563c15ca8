//! `append_file`: appends text to a file, atomically with respect to other appends.

use super::arguments::Arguments;
use super::context::ToolContext;
use super::file_access::{self, failed};
use super::pending::Outcome;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_sandbox::files;

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

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let (path, content) = (arguments.text("path").to_owned(), arguments.text("content").to_owned());
        file_access::write(context, self.name(), arguments.text("path"), move |permit, context| {
            match files::append(permit, content.as_bytes(), context.warden.files()) {
                Ok(()) => Reply::Done(format!("Appended to {}", file_access::escaped(&path))),
                Err(error) => failed("append to file", &error),
            }
        })
    }
}
