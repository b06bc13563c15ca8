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
use super::finding::Remedy;
use super::interpreter::Interpreter;
use super::options::NamedCommand;
use super::programs::has_word;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One rule.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Its name in refusals and in the ledger.
    pub(super) name: &'static str,
    /// Its reason.
    pub(super) why: &'static str,
    /// Its programs; a name that ends in `*` is a prefix.
    pub(super) programs: &'static str,
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

/// The rules for a program.
fn rules_for(name: &str) -> impl Iterator<Item = &'static Rule> {
    type Index = (BTreeMap<&'static str, Vec<&'static Rule>>, Vec<(&'static str, &'static Rule)>);
    static INDEX: OnceLock<Index> = OnceLock::new();
    let (exact, prefixes) = INDEX.get_or_init(|| {
        let mut index = Index::default();
        for rule in FAMILIES.iter().copied().flatten() {
            for program in rule.programs.split_whitespace() {
                match program.strip_suffix('*') {
                    Some(prefix) => index.1.push((prefix, rule)),
                    None => index.0.entry(program).or_default().push(rule),
                }
            }
        }
        index
    });
    let prefixed: Vec<&Rule> =
        prefixes.iter().filter(|(prefix, _)| name.starts_with(prefix)).map(|(_, rule)| *rule).collect();
    exact.get(name).into_iter().flatten().copied().chain(prefixed)
}

/// Programs whose first operand is a subcommand, which has to be known like the name of a command.
const VERBED: &str = "git hg docker podman nerdctl docker-compose kubectl systemctl loginctl apt apt-get yum dnf zypper \
    apk pacman snap brew npm pnpm yarn pip pip3";

/// Whether the subcommand is not known. Behind an option it may be the second word, too.
fn has_unknown_verb(call: &NamedCommand<'_>) -> bool {
    if call.name == "git" {
        let at = super::options::parse(call.args, super::git::GLOBAL).1;
        return call.args.get(at).is_some_and(|verb| verb.known().is_none());
    }
    let first = call.args.iter().position(|arg| !arg.as_str().starts_with('-')).unwrap_or(call.args.len());
    call.args.iter().skip(first).take(if first > 0 { 2 } else { 1 }).any(|verb| verb.known().is_none())
}

/// Maximum number of arguments of an unknown program that are looked at.
const MAX_LOOKED_AT: usize = 64;
/// Names of programs that are also everyday words: no sign of a command among arguments.
const WORDS: &str = "at batch mount umount format init install mkdir passwd su sg port pkg snap fly az aws ftp del erase \
    rd batch halt wipe scrub brew in installer write git npm yarn pip docker make find mv ln bun uv gem run0 nvme go";

impl Interpreter<'_> {
    /// A program that the table does not know may run its arguments: one that begins a dangerous
    /// command is refused.
    pub(super) fn check_unknown_program(&mut self, call: &NamedCommand<'_>) {
        for (at, arg) in call.args.iter().enumerate().take(MAX_LOOKED_AT) {
            let Some(name) = arg.known().map(|name| name.rsplit('/').next().unwrap_or(name)) else {
                continue;
            };
            let inner = NamedCommand { name, args: &call.args[at + 1..], ..*call };
            if has_word(WORDS, name) || inner.args.is_empty() {
                continue;
            }
            for rule in rules_for(name) {
                if (rule.when)(&inner) {
                    self.report_danger(rule.name, rule.why, &call.words());
                }
            }
        }
    }

    /// Checks every rule of every family.
    pub(super) fn check_rules(&mut self, call: &NamedCommand<'_>, remedy: &Remedy) {
        // Windows spellings are in any case.
        let lower = match call.name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(call.name.to_ascii_lowercase()),
            false => Cow::Borrowed(call.name),
        };
        let name = lower.strip_suffix(".exe").unwrap_or(&lower);
        let call = &NamedCommand { name, ..*call };
        if has_word(VERBED, name) && has_unknown_verb(call) {
            self.report_computed("unknown-command", "what the program does", &join_words(call.args));
        }
        for rule in rules_for(name) {
            if (rule.when)(call) {
                self.report_danger_with(rule.name, rule.why, &call.words(), remedy.clone());
            }
        }
    }
}
