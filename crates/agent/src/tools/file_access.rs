//! What the file tools share: from a path to a permit, and the sentences of failures.

use super::context::ToolContext;
use super::pending::Outcome;
use crate::call::Reply;
use picoclaw_policy::{Access, Code, Layer, Refusal};
use picoclaw_sandbox::files::{Located, Write};
use picoclaw_sandbox::permit::{Effect, Permit};
use picoclaw_sandbox::printable;
use picoclaw_sandbox::root::RootError;
use picoclaw_sandbox::warden::LocateError;
use std::path::Path;

/// Locates `path` and asks for the permit.
pub(super) fn admit<K: Effect + Send + 'static>(
    context: &ToolContext<'_>,
    tool: &str,
    access: Access,
    path: &str,
    kind: impl FnOnce(Located) -> K,
) -> Result<Permit<K>, Reply> {
    // Only a listing has a default: the workspace.
    if path.is_empty() && access != Access::List {
        return Err(invalid(context, tool, "path is required"));
    }
    let ToolContext { warden, subject, .. } = context;
    let located = warden
        .locate(access, Path::new(path), subject)
        .map_err(|error| not_located(context, tool, &error))?;
    context.admit(tool, kind(located))
}

/// Locates `path` and writes there, if it is permitted.
pub(super) fn write(
    context: &ToolContext<'_>,
    tool: &str,
    path: &str,
    write: impl FnOnce(Permit<Write>, &ToolContext<'_>) -> Reply,
) -> Outcome {
    match admit(context, tool, Access::Write, path, Write) {
        Ok(permit) => write(permit, context).into(),
        Err(reply) => reply.into(),
    }
}

/// `path` for a reply: what a terminal or a model could misread is escaped.
pub(super) fn escaped(path: &str) -> String {
    printable(path).into_owned()
}

/// The reply to a path that cannot be located at all. It is recorded like any other refusal.
fn not_located(context: &ToolContext<'_>, tool: &str, error: &LocateError) -> Reply {
    let (sentence, hint) = sentence_and_hint(&error.to_string());
    let refusal =
        Refusal { code: Code::InvalidArguments, sentence, rule: "path".to_owned(), layer: Layer::Root, hint };
    Reply::Refused(context.warden.refuse_call(tool, context.subject, refusal))
}

/// A spelling that Windows gives a second meaning is refused in the words for any path outside.
fn sentence_and_hint(error: &str) -> (String, String) {
    let (text, hint) = error.split_once("\nhint: ").unwrap_or((error, ""));
    let prefix = if text.starts_with("access denied") { "" } else { "invalid path: " };
    (format!("{prefix}{text}"), hint.to_owned())
}

/// Refuses arguments that match the schema, but not each other.
pub(super) fn invalid(context: &ToolContext<'_>, tool: &str, sentence: &str) -> Reply {
    let refusal = Refusal::invalid_arguments(sentence);
    Reply::Refused(context.warden.refuse_call(tool, context.subject, refusal))
}

/// `failed to read file: file not found` and its like. The documentation promises these sentences.
pub(super) fn failed(what: &str, error: &RootError) -> Reply {
    let cause = cause(error);
    match error.hint() {
        Some(hint) => Reply::Failed(format!("failed to {what}: {cause}\nhint: {hint}")),
        None => Reply::Failed(format!("failed to {what}: {cause}")),
    }
}

fn cause(error: &RootError) -> String {
    match error {
        RootError::NotFound { .. } => "file not found".to_owned(),
        RootError::AccessDenied { .. } => "access denied".to_owned(),
        RootError::IsADirectory { .. } => "is a directory".to_owned(),
        RootError::NotADirectory { .. } => "not a directory".to_owned(),
        RootError::NotAFile { .. } => "not a regular file".to_owned(),
        RootError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::sentence_and_hint;

    #[test]
    fn a_refused_spelling_has_the_sentence_of_a_path_outside() {
        let outside = "access denied: path is outside the workspace";
        for (error, sentence, hint) in [
            ("path contains a NUL byte".to_owned(), "invalid path: path contains a NUL byte", ""),
            (format!("{outside}\nhint: it names a device"), outside, "it names a device"),
        ] {
            assert_eq!(sentence_and_hint(&error), (sentence.to_owned(), hint.to_owned()));
        }
    }
}
