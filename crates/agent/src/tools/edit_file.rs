//! `edit_file`: replaces a text that occurs exactly once.

use super::arguments::Arguments;
use super::context::ToolContext;
use super::file_access::{self, failed};
use super::pending::Outcome;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_sandbox::files;
use picoclaw_sandbox::root::RootError;

pub(super) struct EditFile;

const PARAMETERS: &[Parameter] = &[
    Parameter { name: "path", kind: Type::Text, need: Need::Required, about: "The file path to edit." },
    Parameter {
        name: "old_text",
        kind: Type::Text,
        need: Need::Required,
        about: "The exact text to find and replace. Must appear exactly once in the file.",
    },
    Parameter {
        name: "new_text",
        kind: Type::Text,
        need: Need::Required,
        about: "The text to replace with.",
    },
];

impl Tool for EditFile {
    fn name(&self) -> &'static str {
        "edit_file"
    }

    fn about(&self) -> &'static str {
        "Edit a file by replacing old text with new text. The old text must match exactly."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        let [path, old, new] = ["path", "old_text", "new_text"].map(|name| arguments.text(name).to_owned());
        file_access::write(context, self.name(), arguments.text("path"), move |permit, context| {
            match files::edit(permit, &old, &new, context.warden.files()) {
                Ok(()) => Reply::Done(format!("File edited: {}", file_access::escaped(&path))),
                Err(RootError::NoMatch { .. }) => {
                    Reply::Failed("old_text not found in file. Make sure it matches exactly".to_owned())
                }
                Err(RootError::ManyMatches { count, .. }) => Reply::Failed(format!(
                    "old_text appears {count} times. Please provide more context to make it unique"
                )),
                Err(error @ (RootError::NotFound { .. } | RootError::IsADirectory { .. })) => {
                    failed("read file", &error)
                }
                Err(error) => failed("edit file", &error),
            }
        })
    }
}
