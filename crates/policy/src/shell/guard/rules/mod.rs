//! Rules for families of dangerous commands.
//!
//! A rule names its programs, its condition and its reason, and has examples of what it stops and
//! what it allows. A test runs them through the whole guard.

mod containers;
mod deletion;
mod disks;
mod execution;
mod packages;
mod permissions;
mod power;
mod privilege;
mod processes;
mod remote;
mod version_control;

use super::builtins::join_words;
use super::interpreter::Interpreter;
use super::options::NamedCommand;
use super::partial_word::PartialWord;
use std::borrow::Cow;

/// One rule.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Its name in refusals and in the ledger.
    pub(super) name: &'static str,
    /// Its reason.
    pub(super) why: &'static str,
    /// Its programs; a name that ends in `*` is a prefix.
    pub(super) programs: &'static [&'static str],
    /// Whether it applies.
    pub(super) when: fn(&NamedCommand<'_>) -> bool,
    /// Commands it stops.
    pub(super) stops: &'static [&'static str],
    /// Commands it allows.
    pub(super) spares: &'static [&'static str],
}

/// Every family.
pub(super) const FAMILIES: &[&[Rule]] = &[
    deletion::RULES,
    disks::RULES,
    power::RULES,
    privilege::RULES,
    permissions::RULES,
    processes::RULES,
    remote::RULES,
    packages::RULES,
    containers::RULES,
    version_control::RULES,
    execution::RULES,
];

/// For rules without a condition.
fn always(_: &NamedCommand<'_>) -> bool {
    true
}

impl Rule {
    fn is_for(&self, name: &str) -> bool {
        self.programs.iter().any(|program| match program.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *program == name,
        })
    }
}

/// Programs whose first operand is a subcommand, which has to be known like the name of a command.
const VERBED: &[&str] = &[
    "git",
    "hg",
    "docker",
    "podman",
    "nerdctl",
    "docker-compose",
    "kubectl",
    "systemctl",
    "loginctl",
    "apt",
    "apt-get",
    "yum",
    "dnf",
    "zypper",
    "apk",
    "pacman",
    "snap",
    "brew",
    "npm",
    "pnpm",
    "yarn",
    "pip",
    "pip3",
];

impl Interpreter<'_> {
    /// Checks every rule of every family.
    pub(super) fn check_rules(&mut self, call: &NamedCommand<'_>, argv: &[PartialWord]) {
        // Windows spellings are in any case.
        let lower = match call.name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(call.name.to_ascii_lowercase()),
            false => Cow::Borrowed(call.name),
        };
        let name = lower.strip_suffix(".exe").unwrap_or(&lower);
        let call = &NamedCommand { name, ..*call };
        let verb = call.args.iter().find(|arg| !arg.as_str().starts_with('-'));
        if VERBED.contains(&name) && verb.is_some_and(PartialWord::is_open) {
            self.report_computed("unknown-command", "what the program does", &join_words(call.args));
        }
        for rule in FAMILIES.iter().copied().flatten() {
            if rule.is_for(name) && (rule.when)(call) {
                // The words as written, so that the suggested allow pattern matches.
                self.report_danger(rule.name, rule.why, &join_words(argv));
            }
        }
    }
}
