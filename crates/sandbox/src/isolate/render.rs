//! A plan as text: one line a rule, for the log, for goldens and for a person who looks for a leak.
//!
//! Invariant: every rule of the plan is a line, and no line can be forged by a path.

use crate::isolate::plan::Plan;
use crate::isolate::view::{Rule, Why};
use picoclaw_policy::config::{ExposeMode, Network};
use std::path::Path;

impl Plan {
    /// The plan, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.view.iter().map(line).collect();
        let network = match self.network {
            Network::Host => "network host",
            Network::None => "network none (private loopback)",
        };
        lines.push(network.to_owned());
        let limits = self.limits;
        for (name, value) in [
            ("memory_mb", limits.memory_mb),
            ("processes", limits.processes),
            ("file_size_mb", limits.file_size_mb),
            ("open_files", limits.open_files),
            ("cpu_seconds", limits.cpu_seconds),
        ] {
            lines.push(if value == 0 {
                format!("limit {name} none")
            } else {
                format!("limit {name} {value}")
            });
        }
        lines.push(format!("workdir {}", shown(&self.work_dir)));
        lines
    }
}

fn line(rule: &Rule) -> String {
    match rule {
        Rule::Show { source, target, mode, why, .. } => {
            let mode = if *mode == ExposeMode::ReadOnly { "ro" } else { "rw" };
            let from = if source == target { String::new() } else { format!(" <- {}", shown(source)) };
            format!("{mode} {}{from} ({})", shown(target), reason(*why))
        }
        Rule::Link { target, to } => format!("link {} -> {}", shown(target), shown(to)),
        Rule::Scratch { target } => format!("scratch {}", shown(target)),
        Rule::Hide { target, .. } => format!("hide {}", shown(target)),
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::System => "system",
        Why::Etc => "etc",
        Why::Workspace => "workspace",
        Why::UserEnvironment => "user environment",
        Why::Skills => "skills",
        Why::Configured => "expose_paths",
        Why::Operator => "operator's command",
        Why::Toolchain => "toolchain",
    }
}

/// A path without line breaks and other control characters.
fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
