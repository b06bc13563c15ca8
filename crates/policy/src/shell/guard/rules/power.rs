//! Power: shutting down, rebooting, suspending.

use super::{Rule, always};
use crate::shell::guard::programs::has_word;

const VERBS: &str = "poweroff reboot halt kexec suspend hibernate hybrid-sleep suspend-then-hibernate rescue emergency \
    exit switch-root soft-reboot";

fn names_target(word: &str) -> bool {
    let name = word.trim_end_matches(".target");
    has_word(VERBS, name) || name.starts_with("runlevel") || name == "shutdown" || name == "ctrl-alt-del"
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
            let words = call.operands("H M t n o p");
            match words.as_slice() {
                [verb, ..] if has_word(VERBS, verb) => true,
                ["isolate" | "start" | "restart" | "enable" | "set-default", units @ ..] => {
                    units.iter().any(|unit| names_target(unit) && unit.ends_with(".target"))
                }
                words => words.iter().any(|word| {
                    word.ends_with("PowerOff") || word.ends_with("Reboot") || word.ends_with(".Halt")
                }),
            }
        },
        stops: &[
            "systemctl halt",
            "systemctl --force reboot",
            "systemctl isolate poweroff.target",
            "loginctl poweroff",
        ],
        spares: &["systemctl status nginx", "systemctl list-units", "systemctl restart nginx"],
    },
];
