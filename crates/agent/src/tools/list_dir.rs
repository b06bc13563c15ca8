//! `list_dir`: lists a directory, one line an entry, names escaped.

use super::arguments::Arguments;
use super::context::ToolContext;
use super::file_access::{self, failed};
use super::pending::Outcome;
use super::registry::Tool;
use super::schema::{Need, Parameter, Type};
use crate::call::Reply;
use picoclaw_policy::Access;
use picoclaw_sandbox::files::{self, List};
use picoclaw_sandbox::printable;
use picoclaw_sandbox::root::{EntryKind, Listing, Page, RootError};
use std::fmt::Write;

pub(super) struct ListDir;

/// Entries in one reply.
const MAX_ENTRIES: usize = 10_000;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "path",
        kind: Type::Text,
        need: Need::Optional,
        about: "Path to the directory to list. Defaults to the workspace.",
    },
    Parameter {
        name: "offset",
        kind: Type::Count,
        need: Need::Optional,
        about: "How many entries to leave out at the beginning. Default: 0.",
    },
    Parameter {
        name: "limit",
        kind: Type::Count,
        need: Need::Optional,
        about: "The most entries to list. Default: 10000.",
    },
];

impl Tool for ListDir {
    fn name(&self) -> &'static str {
        "list_dir"
    }

    fn about(&self) -> &'static str {
        "List files and directories in a specified path, one a line: `DIR: name` or `FILE: name`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn run(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Outcome {
        self.attempt(arguments, context).into()
    }
}

impl ListDir {
    fn attempt(&self, arguments: &Arguments<'_>, context: &ToolContext<'_>) -> Result<Reply, Reply> {
        let path = arguments.text("path");
        let page = Page {
            offset: size(arguments.count("offset").unwrap_or(0)),
            limit: arguments.count("limit").map_or(MAX_ENTRIES, size).clamp(1, MAX_ENTRIES),
        };
        let permit = file_access::admit(context, self.name(), Access::List, path, List)?;
        Ok(match files::list(permit, page) {
            Ok(listing) => Reply::Done(render(&listing, page)),
            Err(RootError::NotFound { .. }) => {
                Reply::Failed("failed to read directory: directory not found".to_owned())
            }
            Err(error) => failed("read directory", &error),
        })
    }
}

fn render(listing: &Listing, page: Page) -> String {
    let count = listing.entries.len();
    let mut text = String::new();
    for entry in &listing.entries {
        text.push_str(if entry.kind == EntryKind::Directory { "DIR: " } else { "FILE: " });
        text.push_str(&printable(&entry.name.to_string_lossy()));
        text.push('\n');
    }
    let seen = page.offset.saturating_add(count);
    if seen < listing.total && count > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "[truncated: entries {}-{seen} of {} shown; go on with \"offset\": {seen}]",
            page.offset + 1,
            listing.total
        );
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
