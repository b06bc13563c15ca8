//! The tools that a model is shown.
//!
//! Invariant: what the policy switches off, or a search has not found yet, is not offered.

use crate::hall::Hall;
use crate::providers::ToolSpec;
use crate::tools::{Registry, Tool, schema_of};
use picoclaw_policy::Subject;

/// Every tool that this subject can see and may use.
pub(super) fn to(hall: &Hall, subject: &Subject) -> Vec<ToolSpec> {
    let spec = |tool: &dyn Tool| ToolSpec {
        name: tool.name().to_owned(),
        description: tool.about().to_owned(),
        parameters: schema_of(tool),
    };
    seen(hall, &hall.registry(), subject).map(spec).collect()
}

/// The same after a round, or nothing when it is what was offered before.
pub(super) fn anew(hall: &Hall, subject: &Subject, before: &[ToolSpec]) -> Option<Vec<ToolSpec>> {
    let registry = hall.registry();
    registry.round_over(subject);
    let is_same =
        seen(hall, &registry, subject).map(Tool::name).eq(before.iter().map(|tool| tool.name.as_str()));
    (!is_same).then(|| to(hall, subject))
}

fn seen<'h>(
    hall: &'h Hall,
    registry: &'h Registry,
    subject: &'h Subject,
) -> impl Iterator<Item = &'h dyn Tool> {
    let policy = hall.warden().policy();
    registry.seen_by(subject).filter(move |tool| policy.check_tool(tool.name(), subject).is_ok())
}
