//! `append_file`: puts text behind a file's end.
//!
//! Invariant: appends from several processes at once all arrive, each whole.

use super::arguments::Arguments;
use super::asked::Outcome;
use super::failure::failed;
use super::file;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use super::visit::Visit;
use crate::call::Reply;
use picoclaw_policy::Access;
use picoclaw_sandbox::files::{self, Write};

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

    fn run(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Outcome {
        self.attempt(arguments, visit).into()
    }
}

impl AppendFile {
    fn attempt(&self, arguments: &Arguments<'_>, visit: &Visit<'_>) -> Result<Reply, Reply> {
        let path = arguments.text("path");
        let permit = file::admit(visit, self.name(), Access::Write, path, Write)?;
        Ok(match files::append(permit, arguments.text("content").as_bytes(), visit.warden.files()) {
            Ok(()) => Reply::Done(format!("Appended to {}", file::told(path))),
            Err(why) => failed("append to file", &why),
        })
    }
}
