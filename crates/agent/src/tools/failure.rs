//! The sentences of a tool that was allowed and could not do it.
//!
//! Invariant: what the documentation promises is said to the letter; a hint has a line of its own.

use crate::call::Reply;
use picoclaw_sandbox::root::RootError;

/// `failed to read file: file not found`, and its like for every verb and cause.
pub(super) fn failed(what: &str, why: &RootError) -> Reply {
    let cause = cause(why);
    match why.hint() {
        Some(hint) => Reply::Failed(format!("failed to {what}: {cause}\nhint: {hint}")),
        None => Reply::Failed(format!("failed to {what}: {cause}")),
    }
}

fn cause(why: &RootError) -> String {
    match why {
        RootError::NotFound { .. } => "file not found".to_owned(),
        RootError::AccessDenied { .. } => "access denied".to_owned(),
        RootError::IsADirectory { .. } => "is a directory".to_owned(),
        RootError::NotADirectory { .. } => "not a directory".to_owned(),
        RootError::NotAFile { .. } => "not a regular file".to_owned(),
        RootError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
