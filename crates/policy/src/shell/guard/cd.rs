//! Where the shell is: `cd`, `pushd`, `popd`.
//!
//! Invariant: after any of them, every place that the shell can be in is among the places of the state.

use super::interpreter::{Flow, Interpreter};
use super::options::{Grammar, NamedCommand, Order};
use super::partial_word::PartialWord;
use super::state::{ShellDir, State, Variable};
use crate::intent::{Access, FileKind};
use crate::path::CleanPath;
use std::path::Path;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn cd(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let operands = call.operands(&Grammar { order: Order::First, ..Grammar::default() });
        let mut targets = Vec::new();
        let printed = Flow::either(state.clone()).printing(PartialWord::default());
        match operands.first().copied() {
            None => {
                for home in self.lookup("HOME", state) {
                    targets.extend(self.entered(home.as_str(), state));
                }
            }
            Some("-") => {
                let previous = self.lookup("OLDPWD", state);
                for place in previous {
                    targets.extend(self.entered(place.as_str(), state));
                }
            }
            Some(target) => {
                if is_plain(target)
                    && let Some(Variable::Scalar(paths)) = state.variables.get("CDPATH")
                {
                    for path in paths.clone() {
                        for dir in path.as_str().split(':').filter(|dir| !dir.is_empty()) {
                            targets.extend(self.entered(&format!("{dir}/{target}"), state));
                        }
                    }
                }
                targets.extend(self.entered(target, state));
            }
        }
        if targets.is_empty() {
            return printed;
        }
        let sure = targets.iter().all(|place| self.is_sure(place, state));
        let mut next = (**state).clone();
        next.go(targets);
        Flow { fail: (!sure).then(|| state.clone()), ..Flow::ok(Rc::new(next)) }
    }

    /// Judges a directory that the shell goes to, and says which places that can be.
    pub(super) fn entered(&mut self, target: &str, state: &Rc<State>) -> Vec<ShellDir> {
        if target.is_empty() {
            return state.cwd.to_vec();
        }
        self.path(target, Access::List, state);
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

    /// Whether going there cannot fail: it is there now, or the line has made it.
    fn is_sure(&self, place: &ShellDir, state: &State) -> bool {
        let ShellDir::At(path) = place else { return false };
        if state.shaken {
            return false;
        }
        state.made.contains(path)
            || self.scene.zones.workspace.contains(path)
            || self.scene.file_system.kind(path) == FileKind::Directory
    }

    pub(super) fn pushd(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let mut flow = match call.args.first().map(PartialWord::as_str) {
            Some(target) if !target.starts_with(['+', '-']) => self.cd(call, state),
            _ => {
                let mut next = (**state).clone();
                next.go(vec![ShellDir::Unknown]);
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
    next.go(back);
    Flow { fail: Some(state.clone()), ..Flow::ok(Rc::new(next)) }
}
