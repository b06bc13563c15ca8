//! Power: shutting down, rebooting, suspending.

use super::{Rule, always};
use crate::shell::guard::programs::has_word;

const VERBS: &str = "poweroff reboot halt kexec suspend hibernate hybrid-sleep suspend-then-hibernate rescue emergency \
    exit switch-root soft-reboot";

/// Options of systemctl and loginctl with a value.
pub(super) const SYSTEMCTL: &str = "H M t n o p P s host machine type lines output property signal kill-who kill-whom root \
    image state job-mode what check-inhibitors timestamp boot-loader-entry reboot-argument preset-mode";

/// `poweroff.target`, or the service behind it: `systemd-poweroff`.
fn names_target(unit: &str) -> bool {
    let name = unit.strip_suffix(".target").or_else(|| unit.strip_prefix("systemd-"));
    name.map(|name| name.trim_end_matches(".service")).is_some_and(|name| {
        has_word(VERBS, name) || name.starts_with("runlevel") || name == "shutdown" || name == "ctrl-alt-del"
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "power",
        why: "switches the machine off",
        programs: "shutdown reboot poweroff halt pm-suspend pm-hibernate rtcwake kexec",
        when: always,
        stops: &["shutdown -h now", "reboot", "/sbin/reboot"],
        spares: &["echo reboot", "last reboot"],
    },
    Rule {
        name: "power",
        why: "changes the run level",
        programs: "init telinit",
        when: |call| call.has_arg("0 1 6 s S u U q"),
        stops: &["init 0", "telinit 6"],
        spares: &["echo init 0"],
    },
    Rule {
        name: "power",
        why: "switches the machine off",
        programs: "systemctl loginctl busctl dbus-send gdbus",
        when: |call| {
            let words = call.operands(SYSTEMCTL);
            match words.as_slice() {
                [verb, ..] if has_word(VERBS, verb) => true,
                ["isolate" | "start" | "restart" | "enable" | "set-default", units @ ..] => {
                    units.iter().any(|unit| names_target(unit))
                }
                words => words.iter().any(|word| {
                    word.ends_with("PowerOff") || word.ends_with("Reboot") || word.ends_with(".Halt")
                }),
            }
        },
        stops: &[
            "systemctl halt",
            "systemctl --force reboot",
            "systemctl --output cat halt",
            "systemctl isolate poweroff.target",
            "systemctl start systemd-halt",
            "loginctl poweroff",
        ],
        spares: &["systemctl status nginx", "systemctl list-units", "systemctl restart nginx"],
    },
];
