//! `write_file`: replaces a file atomically and durably.

use super::arguments::Arguments;
use super::context::ToolContext;
use super::file_access::{self, failed};
use super::pending::Outcome;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_sandbox::files;
use picoclaw_sandbox::root::{Overwrite, RootError};

pub(super) struct WriteFile;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: Type::Text,
        need: Need::Required,
        about: "Path to the file to write, absolute or relative to the workspace. It is created, with its parent directories, when it does not exist.",
    },
    Parameter {
        name: "content",
        kind: Type::Text,
        need: Need::Required,
        about: "Content to write to the file.",
    },
    Parameter {
        name: "overwrite",
        kind: Type::Flag,
        need: Need::Optional,
        about: "Set to false to refuse when the file exists already. Default: true.",
    },
];

impl Tool for WriteFile {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn about(&self) -> &'static str {
        "Write content to a file, creating parent directories if needed. An existing file is replaced atomically and keeps its mode."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let (path, content) = (arguments.text("path").to_owned(), arguments.text("content").to_owned());
        let overwrite = match arguments.flag("overwrite") {
            Some(false) => Overwrite::No,
            _ => Overwrite::Yes,
        };
        file_access::write(context, self.name(), arguments.text("path"), move |permit, context| {
            match files::write(permit, content.as_bytes(), overwrite, context.warden.files()) {
                Ok(()) => Reply::Done(format!("File written: {}", file_access::escaped(&path))),
                Err(RootError::Exists { .. }) => Reply::Failed(format!(
                    "file: {} already exists. Set overwrite=true to replace.",
                    file_access::escaped(&path)
                )),
                Err(error) => failed("write file", &error),
            }
        })
    }
}
