//! A plan as text, one rule a line, for the log and for golden files.

use crate::isolate::mount_rules::{MountReason, MountRule};
use crate::isolate::plan::Plan;
use picoclaw_policy::config::{ExposeMode, Network};
use std::path::Path;

impl Plan {
    /// The plan, line by line. Control characters in paths are escaped, so a path cannot forge a
    /// line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.mounts.iter().map(rule_line).collect();
        let network = match &self.network {
            Network::Host => "network open".to_owned(),
            Network::None => "network closed (private loopback)".to_owned(),
            Network::Allow(hosts) => format!("network by name: {hosts}"),
        };
        lines.push(network);
        let limits = self.limits;
        for (name, value) in [
            ("memory_mb", limits.memory_mb),
            ("processes", limits.processes),
            ("file_size_mb", limits.file_size_mb),
            ("open_files", limits.open_files),
            ("cpu_seconds", limits.cpu_seconds),
        ] {
            lines.push(match value {
                0 => format!("limit {name} none"),
                value => format!("limit {name} {value}"),
            });
        }
        lines.push(format!("workdir {}", escaped(&self.work_dir)));
        lines
    }
}

/// One rule as a line.
pub(super) fn rule_line(rule: &MountRule) -> String {
    match rule {
        MountRule::Bind { source, target, mode, reason, .. } => {
            let mode = if *mode == ExposeMode::ReadOnly { "ro" } else { "rw" };
            let from = if source == target { String::new() } else { format!(" <- {}", escaped(source)) };
            format!("{mode} {}{from} ({})", escaped(target), reason_text(*reason))
        }
        MountRule::Symlink { target, to } => format!("link {} -> {}", escaped(target), escaped(to)),
        MountRule::Tmpfs { target, .. } => format!("scratch {}", escaped(target)),
        MountRule::Overlay { lower, target } => {
            format!("overlay {} <- {}", escaped(target), escaped(lower))
        }
        MountRule::Hide { target, .. } => format!("hide {}", escaped(target)),
        MountRule::MaskSocket { target } => format!("mask {} (socket of the host)", escaped(target)),
    }
}

fn reason_text(reason: MountReason) -> &'static str {
    match reason {
        MountReason::System => "system",
        MountReason::Etc => "etc",
        MountReason::Workspace => "workspace",
        MountReason::UserEnvironment => "user environment",
        MountReason::Skills => "skills",
        MountReason::Configured => "expose_paths",
        MountReason::Operator => "operator's command",
        MountReason::Toolchain => "toolchain",
        MountReason::Protected => "protected",
    }
}

fn escaped(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
