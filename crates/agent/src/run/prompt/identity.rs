//! The parts of the prompt that come from the program: identity and rules, and the current time.

use jiff::Timestamp;
use picoclaw_policy::Subject;
use std::path::Path;

/// The first part.
pub(super) fn identity(name: &str, workspace: &Path) -> String {
    format!(
        "# picoclaw 🦞 ({version})

You are `{name}`, an agent that works on a real machine through the tools it is given.

Your workspace is `{workspace}`. Relative paths start there. In it:
- `memory/MEMORY.md` holds what is worth remembering for good.
- `memory/YYYYMM/YYYYMMDD.md` holds the notes of a day.
- `skills/NAME/SKILL.md` holds instructions for a kind of task; read one before you follow it.

1. Act through tools. Never claim to have done what no tool has done.
2. Be accurate: say what you saw, and say so when you do not know.
3. A summary of what was said earlier is approximate; look again before you rely on it.
4. Write what should outlive this conversation to `memory/MEMORY.md`.
5. A refused call is a decision of the operator's. Say what was refused; do not look for a way around it.",
        version = env!("CARGO_PKG_VERSION"),
        workspace = workspace.display(),
    )
}

/// The last part: time, system, channel and session.
pub(super) fn runtime(subject: &Subject, now: Timestamp) -> String {
    format!(
        "# Now\n\nTime: {} UTC\nSystem: {}/{}\nChannel: {}\nSession: {}",
        now.strftime("%Y-%m-%d %H:%M (%A)"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        subject.origin.as_str(),
        picoclaw_sandbox::printable(&subject.session),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use picoclaw_policy::{AgentId, Origin};

    #[test]
    fn a_moment_is_spelled_with_its_weekday() {
        let subject = Subject::root(Origin::Cli, AgentId::main(), "s");
        for (at, want) in [
            ("2026-11-15T04:28:59Z", "Time: 2026-11-15 04:28 (Sunday) UTC\n"),
            ("2024-02-29T00:00:00Z", "Time: 2024-02-29 00:00 (Thursday) UTC\n"),
        ] {
            let text = runtime(&subject, at.parse().unwrap());
            assert!(text.contains(want), "{text}");
        }
    }
}
