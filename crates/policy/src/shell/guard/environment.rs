//! Variables that make other programs run something.
//!
//! Invariant: a value that a program would run as a command is judged as one.

use super::field::Field;
use super::simple::Scope;
use super::state::{State, Variable};
use super::walk::{Input, Walker};
use crate::intent::Access;
use std::rc::Rc;

/// Variables that put code into a program before its own.
const LOADED: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PYTHONSTARTUP",
];
/// Variables that are commands.
const COMMANDS: &[&str] = &[
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PS0",
    "PS4",
];
/// Lists of directories to look programs, modules or pages up in.
const LISTS: &[&str] = &["PATH", "MANPATH", "INFOPATH", "XDG_DATA_DIRS", "IFS", "PS1", "PS2", "LS_COLORS"];

impl Walker<'_> {
    /// Judges an assignment that a program will see.
    pub(super) fn environment(&mut self, name: &str, value: &Variable, state: &Rc<State>, scope: Scope) {
        let (Variable::Scalar(values) | Variable::Array(values)) = value else { return };
        for value in values {
            let words = format!("{name}={}", value.as_str());
            if LOADED.contains(&name) || (name == "ENV" && value.as_str().contains('/')) {
                self.deny("preload", "puts code into a program before its own", &words);
            } else if COMMANDS.contains(&name) {
                if !value.as_str().is_empty() {
                    self.reread_by_sh(value, state, &Input::Inherited);
                }
            } else if matches!(name, "GIT_SSH_COMMAND" | "GIT_SSH" | "RSYNC_RSH") {
                if value
                    .as_str()
                    .split_whitespace()
                    .next()
                    .is_none_or(|name| name.rsplit('/').next() != Some("ssh"))
                {
                    self.deny("preload", "runs a command instead of ssh", &words);
                }
            } else if let Some(function) = name.strip_prefix("BASH_FUNC_") {
                self.deny("preload", "smuggles a function into a shell", function);
            } else if scope == Scope::Command && !LISTS.contains(&name) {
                self.exported(value, state);
            }
        }
    }

    /// A program can open what its environment names; an empty or unknown value names nothing of the line's.
    fn exported(&mut self, value: &Field, state: &Rc<State>) {
        let text = value.as_str();
        if text.is_empty() || value.is_open() {
            return;
        }
        for part in text.split(':') {
            if part.starts_with(['/', '~']) && !part.starts_with("//")
                || part.split('/').any(|part| part == "..")
            {
                self.path(part, Access::Read, state);
            }
        }
    }
}
