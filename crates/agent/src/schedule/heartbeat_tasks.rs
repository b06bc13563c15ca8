//! `HEARTBEAT.md`: its template, and whether it has any task.

/// The line before the tasks.
const MARKER: &str = "Add your heartbeat tasks below this line:";

/// The file of a workspace that has none yet.
pub(super) const TEMPLATE: &str = "# Heartbeat Check List\n\n\
This file holds what the agent looks after at every heartbeat: a line for each chore.\n\
While nothing but blank lines and lines that begin with `#` follow, nothing runs.\n\n\
- Keep each chore short and say what to do when there is something to do.\n\
- The agent answers HEARTBEAT_OK when there is nothing.\n\n\
---\n\n\
Add your heartbeat tasks below this line:\n";

/// The file's text; `None` when it has no task.
pub(super) fn tasks(text: &str) -> Option<&str> {
    let own = text.split_once(MARKER).map_or(text, |(_, below)| below);
    let has_task = own.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'));
    has_task.then_some(text)
}

/// The message for the agent.
pub(super) fn prompt(now: &str, text: &str) -> String {
    format!(
        "# Heartbeat Check\n\nCurrent time: {now}\n\n\
         You look after the list below at regular times. Go through it and do what is due now.\n\
         If nothing needs attention, reply ONLY with: HEARTBEAT_OK\n\n{text}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_wrote_runs() {
        let with = |more: &str| format!("{TEMPLATE}{more}");
        for (why, text, runs) in [
            ("the template", with(""), false),
            ("blank lines below it", with("\n  \n\t\n"), false),
            ("comments below it", with("# later\n  ## more\n"), false),
            ("a chore below it", with("- water the plants\n"), true),
            ("a list without the marker", "- water the plants\n".to_owned(), true),
            ("only headings", "# Chores\n".to_owned(), false),
            ("nothing", String::new(), false),
        ] {
            assert_eq!(tasks(&text).is_some(), runs, "{why}");
        }
    }

    #[test]
    fn the_agent_is_told_the_time_and_how_to_say_nothing() {
        let told = prompt("2026-11-15 04:28 UTC", "- water the plants");
        assert!(told.starts_with("# Heartbeat Check\n"));
        assert!(told.contains("2026-11-15 04:28 UTC") && told.contains("HEARTBEAT_OK"));
        assert!(told.ends_with("- water the plants"));
    }
}
