//! The tools that a model is shown.

use crate::executor::ToolExecutor;
use crate::providers::ToolSpec;
use picoclaw_policy::Subject;

/// Every tool that the policy offers to this subject, deferred ones after they were found.
pub(super) fn visible(executor: &ToolExecutor, subject: &Subject) -> Vec<ToolSpec> {
    let policy = executor.warden().policy();
    let registry = executor.registry();
    let tools = registry.seen_by(subject).filter(|tool| policy.check_tool(tool.name(), subject).is_ok());
    let spec = |tool: &dyn crate::tools::Tool| ToolSpec {
        name: tool.name().to_owned(),
        description: tool.about().to_owned(),
        parameters: tool.schema(),
    };
    tools.map(spec).collect()
}
