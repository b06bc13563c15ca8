//! The dangerous families, as rules over one understood command.
//!
//! A rule says for which programs it is asked, when it applies and why it is there, and brings the examples that show
//! what it stops and what it spares. They are checked by running the whole guard over them.
//!
//! Invariant: a rule without an example of either kind does not pass the tests.

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

use super::builtins::words;
use super::interpreter::Interpreter;
use super::options::NamedCommand;
use super::partial_word::PartialWord;
use std::borrow::Cow;

/// One rule.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Its name in refusals and in the ledger.
    pub(super) name: &'static str,
    /// Why it is there.
    pub(super) why: &'static str,
    /// The programs it is asked for; a name that ends in `*` stands for every name that begins so.
    pub(super) programs: &'static [&'static str],
    /// Whether it applies.
    pub(super) when: fn(&NamedCommand<'_>) -> bool,
    /// Commands it stops.
    pub(super) stops: &'static [&'static str],
    /// Commands it spares.
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

/// For rules that apply whatever the arguments are.
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

/// Programs whose first operand says what they do: it has to be known, like the name of a command.
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
    /// Asks every rule of every family.
    pub(super) fn families(&mut self, call: &NamedCommand<'_>, argv: &[PartialWord]) {
        // The Windows spellings come in any case.
        let lower = match call.name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(call.name.to_ascii_lowercase()),
            false => Cow::Borrowed(call.name),
        };
        let name = lower.strip_suffix(".exe").unwrap_or(&lower);
        let call = &NamedCommand { name, ..*call };
        let verb = call.args.iter().find(|arg| !arg.as_str().starts_with('-'));
        if VERBED.contains(&name) && verb.is_some_and(PartialWord::is_open) {
            self.computed("unknown-command", "what the program does", &words(call.args));
        }
        for rule in FAMILIES.iter().copied().flatten() {
            if rule.is_for(name) && (rule.when)(call) {
                // The words as they stand, so that the pattern that would allow them is one that matches.
                self.deny(rule.name, rule.why, &words(argv));
            }
        }
    }
}
