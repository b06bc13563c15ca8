//! Warnings about the effective configuration. The defaults cause none.

use super::config::Config;
use super::tools::FenceMode;
use regex_syntax::hir::{Look, LookSet};

/// One line for each protection that is switched off.
pub fn warnings(config: &Config) -> Vec<String> {
    let exec = &config.tools.exec;
    let limits = &config.isolation.limits;
    let unlimited = |name: &str| format!("`isolation.limits.{name}` is 0: that limit is off");
    let off = |switched_off: bool, text: String| switched_off.then_some(text);
    [
        off(
            !config.restrict_to_workspace,
            "`agents.defaults.restrict_to_workspace` is false: tools reach every file that is not protected".to_owned(),
        ),
        off(
            config.allow_read_outside_workspace && config.restrict_to_workspace,
            "`agents.defaults.allow_read_outside_workspace` is true: `read_file` and `list_dir` reach every file that is not protected".to_owned(),
        ),
        off(
            !exec.enable_deny_patterns,
            "`tools.exec.enable_deny_patterns` is false: dangerous commands are not blocked".to_owned(),
        ),
        off(
            !exec.enable_deny_patterns && !config.restrict_to_workspace,
            "commands are not looked at any more, and anything runs".to_owned(),
        ),
        off(
            exec.fence == FenceMode::Off,
            "`tools.exec.fence` is off: outside a cage, commands may read and write anywhere".to_owned(),
        ),
        off(
            exec.fence == FenceMode::Writes,
            "`tools.exec.fence` is `writes`: outside a cage, what commands read is held by the guard alone"
                .to_owned(),
        ),
        off(
            !config.isolation.enabled && !config.isolation.network.is_open(),
            "`isolation.enabled` is false: `isolation.network` has no effect, and commands reach every host"
                .to_owned(),
        ),
        off(limits.memory_mb == 0, unlimited("memory_mb")),
        off(limits.processes == 0, unlimited("processes")),
        off(limits.file_size_mb == 0, unlimited("file_size_mb")),
        off(limits.open_files == 0, unlimited("open_files")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What applies by default and is still worth a line at start. `fence` is what this host has of the
/// fence that is configured.
pub fn reminders(config: &Config, fence: FenceMode) -> Vec<String> {
    if config.isolation.enabled {
        return Vec::new();
    }
    let holds = match fence {
        FenceMode::Full if config.restrict_to_workspace => "commands are held by the fence, not by a cage",
        _ => "what commands read is held by the guard alone",
    };
    vec![format!("`isolation.enabled` is false: {holds}")]
}

/// Remarks of `config check` about patterns that match more than intended.
pub fn advice(config: &Config) -> Vec<String> {
    let lists = [
        ("tools.allow_read_paths", &config.tools.allow_read_paths),
        ("tools.allow_write_paths", &config.tools.allow_write_paths),
        ("tools.exec.custom_allow_patterns", &config.tools.exec.custom_allow_patterns),
    ];
    lists
        .into_iter()
        .flat_map(|(key, patterns)| patterns.iter().filter_map(move |pattern| loose(key, pattern)))
        .collect()
}

fn loose(key: &str, pattern: &str) -> Option<String> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let has = |set: LookSet, look| set.contains(look);
    let start = has(parsed.properties().look_set_prefix(), Look::Start);
    let end = has(parsed.properties().look_set_suffix(), Look::End) || pattern.ends_with(".*");
    let what = match (start, end) {
        (true, true) => return None,
        (false, true) => "does not begin with `^`, so it matches in the middle of a text too",
        (true, false) => "does not end with `$`, so whatever follows matches too",
        (false, false) => "stands between neither `^` nor `$`, so it matches anywhere in a text",
    };
    Some(format!("`{key}`: `{}` {what}", super::fault::printable(pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Network;

    #[test]
    fn a_default_configuration_has_nothing_switched_off() {
        assert_eq!(warnings(&Config::default()), Vec::<String>::new());
        let config = Config::default();
        for (fence, want) in [(FenceMode::Full, "held by the fence"), (FenceMode::Off, "by the guard alone")]
        {
            let said = reminders(&config, fence).join("\n");
            assert!(said.contains(want), "isolation is off by default, which is said: {said}");
        }
    }

    #[test]
    fn each_protection_that_is_off_is_one_line() {
        type Change = fn(&mut Config);
        let rows: [(&str, Change, usize); 7] = [
            ("the workspace", |c| c.restrict_to_workspace = false, 1),
            ("reads", |c| c.allow_read_outside_workspace = true, 1),
            ("the deny list", |c| c.tools.exec.enable_deny_patterns = false, 1),
            ("the fence", |c| c.tools.exec.fence = FenceMode::Off, 1),
            ("a network that isolation would close", |c| c.isolation.network = Network::None, 1),
            ("a limit", |c| c.isolation.limits.processes = 0, 1),
            (
                "workspace and deny list together are worse than each",
                |c| {
                    c.restrict_to_workspace = false;
                    c.tools.exec.enable_deny_patterns = false;
                },
                3,
            ),
        ];
        for (why, change, want) in rows {
            let mut config = Config::default();
            change(&mut config);
            assert_eq!(warnings(&config).len(), want, "{why}: {:?}", warnings(&config));
        }
    }

    #[test]
    fn a_pattern_that_is_not_held_at_both_ends_is_pointed_out() {
        for (why, pattern, loose) in [
            ("both ends", "^/etc/hosts$", false),
            ("a prefix on purpose", "^/proc/.*", false),
            ("an alternation inside a group", "^/(etc|usr)/x$", false),
            ("no beginning", "/etc/hosts$", true),
            ("no end", "^/etc/hosts", true),
            ("an anchor for one branch only", "^/a$|/b", true),
            ("an escaped dollar is no end", r"^/x\$", true),
        ] {
            let mut config = Config::default();
            config.tools.allow_read_paths = vec![pattern.to_owned()];
            assert_eq!(!advice(&config).is_empty(), loose, "{why}: `{pattern}`");
        }
    }
}
