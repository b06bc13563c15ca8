//! The working directory: `cd`, `pushd`, `popd`.
//!
//! After each, the state contains every directory that the shell can be in.

use super::interpreter::{Flow, Interpreter};
use super::options::{Grammar, Item, NamedCommand};
use super::partial_word::PartialWord;
use super::state::{ShellDir, State, Variable};
use crate::intent::{Access, FileKind};
use crate::path::CleanPath;
use std::path::Path;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn cd(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let grammar = Grammar::leading("");
        let operands = call.operands(grammar);
        // `cd` fails on an option that it does not know, and on a second operand.
        let plain = |item: &Item<'_>| matches!(item, Item::Short('L' | 'P', None) | Item::Operand(_));
        let is_plain_call = operands.len() <= 1 && call.items(grammar).iter().all(plain);
        let mut targets = Vec::new();
        let printed = Flow::either(state.clone()).printing(PartialWord::default());
        match operands.first().copied() {
            None => {
                for home in self.lookup("HOME", state) {
                    targets.extend(self.judge_directory(home.as_str(), state));
                }
            }
            Some("-") => {
                let previous = self.lookup("OLDPWD", state);
                for place in previous {
                    targets.extend(self.judge_directory(place.as_str(), state));
                }
            }
            Some(target) => {
                if is_plain(target)
                    && let Some(Variable::Scalar(paths)) = state.variables.get("CDPATH")
                {
                    for path in paths.clone() {
                        for dir in path.as_str().split(':').filter(|dir| !dir.is_empty()) {
                            targets.extend(self.judge_directory(&format!("{dir}/{target}"), state));
                        }
                    }
                }
                targets.extend(self.judge_directory(target, state));
            }
        }
        if targets.is_empty() {
            return printed;
        }
        let sure = is_plain_call && targets.iter().all(|place| self.is_certain(place, state));
        let mut next = (**state).clone();
        next.change_dir(targets);
        Flow { fail: (!sure).then(|| state.clone()), ..Flow::ok(Rc::new(next)) }
    }

    /// Judges a target directory, and returns the directories that it can be.
    pub(super) fn judge_directory(&mut self, target: &str, state: &Rc<State>) -> Vec<ShellDir> {
        if target.is_empty() {
            return state.cwd.to_vec();
        }
        self.judge_path(target, Access::List, state);
        let field = PartialWord::text(target);
        if field.is_open() {
            return vec![ShellDir::Unknown];
        }
        if field.known().is_none() {
            return vec![ShellDir::Within];
        }
        let folded = |place: &ShellDir| match place {
            _ if target.starts_with('/') => {
                CleanPath::absolute(Path::new(target)).map_or(ShellDir::Unknown, ShellDir::At)
            }
            ShellDir::At(cwd) => {
                CleanPath::new(Path::new(target), cwd).map_or(ShellDir::Unknown, ShellDir::At)
            }
            ShellDir::Within if !target.split('/').any(|part| part == "..") => ShellDir::Within,
            ShellDir::Within | ShellDir::Unknown => ShellDir::Unknown,
        };
        state.cwd.iter().map(folded).collect()
    }

    /// Whether the change cannot fail: the directory exists, or the line has created it.
    fn is_certain(&self, place: &ShellDir, state: &State) -> bool {
        let ShellDir::At(path) = place else { return false };
        if state.dirs_may_be_gone {
            return false;
        }
        state.made.contains(path)
            || self.context.zones.workspace.contains(path)
            || self.context.file_system.kind(path) == FileKind::Directory
    }

    pub(super) fn pushd(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let mut flow = match call.args.first().map(PartialWord::as_str) {
            Some(target) if !target.starts_with(['+', '-']) => self.cd(call, state),
            _ => {
                let mut next = (**state).clone();
                next.change_dir(vec![ShellDir::Unknown]);
                Flow::either(Rc::new(next))
            }
        };
        if let Some(next) = &mut flow.ok {
            Rc::make_mut(next).stack.push(state.cwd.clone());
        }
        flow
    }
}

/// Whether `cd` looks a target up in `CDPATH`.
fn is_plain(target: &str) -> bool {
    !target.starts_with('/') && !matches!(target.split('/').next(), Some("." | ".."))
}

pub(super) fn popd(state: &Rc<State>) -> Flow {
    let mut next = (**state).clone();
    let back = next.stack.pop().unwrap_or_else(|| Rc::new(vec![ShellDir::Unknown]));
    next.change_dir(back);
    Flow { fail: Some(state.clone()), ..Flow::ok(Rc::new(next)) }
}
