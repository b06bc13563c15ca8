//! Process control: killing by force, by name, or all processes. Asking one process to end is
//! allowed.

use super::power::SYSTEMCTL;
use super::{Rule, always};
use crate::shell::guard::options::NamedCommand;
use crate::shell::guard::partial_word::is_marked;

/// Whether a signal is SIGKILL, or may be.
fn is_kill(signal: &str) -> bool {
    if is_marked(signal) {
        return true;
    }
    let name = signal.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    name == "KILL" || name.trim_start_matches('0') == "9"
}

/// Whether `kill` is given SIGKILL, in any spelling.
fn is_sigkill(call: &NamedCommand<'_>) -> bool {
    let mut args = call.args.iter().map(|arg| arg.as_str());
    while let Some(arg) = args.next() {
        let signal = match arg {
            "-s" | "-n" | "--signal" => args.next().unwrap_or_default(),
            "--" => return false,
            _ => match (
                arg.strip_prefix("--signal="),
                arg.strip_prefix("-s"),
                arg.strip_prefix("-n"),
                arg.strip_prefix('-'),
            ) {
                (Some(signal), ..) => signal,
                (_, Some(signal), ..) | (_, _, Some(signal), _) if is_kill(signal) => signal,
                (_, _, _, Some(signal)) => signal,
                _ => return false,
            },
        };
        if is_kill(signal) {
            return true;
        }
    }
    false
}

/// Whether a `kill` targets every process.
fn targets_all(call: &NamedCommand<'_>) -> bool {
    let signal_given = call.args.first().is_some_and(|arg| arg.as_str().starts_with('-'));
    call.args.iter().skip(usize::from(signal_given)).any(|arg| {
        let arg = arg.as_str();
        // `0`, `00`, and `0$pid`, where the variable may be empty.
        let number = arg.trim_start_matches(['0', '+']);
        let is_zero = number.len() < arg.len() && (number.is_empty() || is_marked(number));
        matches!(arg, "-1" | "1") || is_zero || arg.starts_with('-') && is_marked(arg)
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "forced-kill",
        why: "ends a process by force",
        programs: "kill tskill",
        when: is_sigkill,
        stops: &["kill -$? 12", "kill -9 1234", "kill -s KILL 1234", "kill -SIGKILL 1", "kill -n 9 2"],
        spares: &["kill 1234", "kill -TERM 1234", "kill -l", "kill -0 12"],
    },
    Rule {
        name: "kill-all-processes",
        why: "ends every process it may",
        programs: "kill",
        when: targets_all,
        stops: &["kill -TERM -1", "kill -- -1", "kill 00", "kill 0$pid"],
        spares: &["kill 12", "kill -1 1234"],
    },
    Rule {
        name: "kill-by-name",
        why: "ends every process of a service, a session or a user",
        programs: "systemctl loginctl",
        when: |call| {
            let verb = call.subcommand(SYSTEMCTL);
            verb.is_some_and(|verb| {
                verb == "kill" || verb.starts_with("kill-") || verb.starts_with("terminate-")
            })
        },
        stops: &["systemctl kill nginx", "loginctl terminate-user 1000", "loginctl kill-session 3"],
        spares: &["systemctl status nginx", "loginctl list-sessions"],
    },
    Rule {
        name: "kill-by-name",
        why: "ends every process of a name",
        programs: "pkill killall killall5 skill snice xkill taskkill",
        when: always,
        stops: &["pkill node", "killall -9 node"],
        spares: &["pgrep node", "echo pkill"],
    },
    Rule {
        name: "kill-by-name",
        why: "ends every process that uses a file or a port",
        programs: "fuser",
        when: |call| {
            call.args.iter().any(|arg| {
                arg.as_str().starts_with('-') && (arg.as_str().contains('k') || is_marked(arg.as_str()))
            })
        },
        stops: &["fuser -k 8080/tcp", "fuser -vk x"],
        spares: &["fuser -v x"],
    },
];
