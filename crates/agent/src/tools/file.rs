//! What the file tools share: a path becomes a permit, or a reply that says why not.
//!
//! Invariant: a permit is had from the warden alone.

use super::visit::Visit;
use crate::call::Reply;
use picoclaw_policy::{Access, Code, Layer, Refusal};
use picoclaw_sandbox::files::Located;
use picoclaw_sandbox::permit::{Effect, Permit};
use picoclaw_sandbox::printable;
use picoclaw_sandbox::warden::{Admission, LocateError};
use std::path::Path;

/// Seeks `path` and asks for the key to it.
pub(super) fn admit<K: Effect>(
    visit: &Visit<'_>,
    tool: &str,
    access: Access,
    path: &str,
    kind: impl FnOnce(Located) -> K,
) -> Result<Permit<K>, Reply> {
    // Only a listing has a path to fall back on: the workspace.
    if path.is_empty() && access != Access::List {
        return Err(misfit(visit, tool, "path is required"));
    }
    let Visit { warden, subject, .. } = visit;
    let sought =
        warden.locate(access, Path::new(path), subject).map_err(|why| unseekable(visit, tool, &why))?;
    match warden.admit(tool, subject, kind(sought)) {
        Admission::Permit(permit) => Ok(permit),
        Admission::Refusal(refusal) => Err(Reply::Refused(refusal)),
        Admission::Pending(pending) => Err(Reply::Unasked(warden.unanswered(*pending))),
    }
}

/// `path` as it is told back: what a terminal or a model could misread is escaped.
pub(super) fn told(path: &str) -> String {
    printable(path).into_owned()
}

/// A path that could not be looked for at all is a refused call too, and is recorded as one.
fn unseekable(visit: &Visit<'_>, tool: &str, why: &LocateError) -> Reply {
    let refusal = Refusal {
        code: Code::InvalidArguments,
        sentence: format!("invalid path: {why}"),
        rule: "path".to_owned(),
        layer: Layer::Root,
        hint: String::new(),
    };
    Reply::Refused(visit.warden.refuse_call(tool, visit.subject, refusal))
}

/// Arguments that fit the schema, but not each other.
pub(super) fn misfit(visit: &Visit<'_>, tool: &str, why: &str) -> Reply {
    let refusal = Refusal {
        code: Code::InvalidArguments,
        sentence: why.to_owned(),
        rule: "tools".to_owned(),
        layer: Layer::Registry,
        hint: String::new(),
    };
    Reply::Refused(visit.warden.refuse_call(tool, visit.subject, refusal))
}
