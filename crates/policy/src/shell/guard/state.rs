//! The abstract state of the shell: variables, directories, functions, and files it has created.
//!
//! At a join the state contains both possibilities: a variable has several possible values, the
//! working directory several possible paths. Joining drops no possibility; too many become
//! "anything".

use super::partial_word::{ANYTHING, PartialWord};
use super::programs::has_word;
use crate::path::CleanPath;
use crate::shell::ast;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// More possible values than this become "anything".
const MAX_VALUES: usize = 12;
/// More possible directories than this become unknown.
const MAX_DIRS: usize = 8;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    /// One of these values.
    Scalar(Vec<PartialWord>),
    /// These elements.
    Array(Vec<PartialWord>),
    /// Unset by the line.
    Unset,
}

impl Variable {
    /// Any value.
    pub(super) fn unknown() -> Self {
        Self::Scalar(vec![PartialWord::gap(ANYTHING)])
    }
}

/// A working directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShellDir {
    /// At this path.
    At(CleanPath),
    /// Beneath the workspace, or in a directory just created: names are allowed, `..` is not.
    Within,
    /// Unknown.
    Unknown,
}

/// The content of a file that this line created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Exactly this.
    Known(String),
    /// Something from the network.
    Downloaded,
    /// Something that is computed at run time.
    Computed,
}

/// A function of the line.
#[derive(Debug, Clone)]
pub(super) struct Function {
    /// Its possible bodies.
    pub(super) bodies: Vec<Rc<ast::Command>>,
    /// Whether it is certainly defined: else the name may also be a program's.
    pub(super) is_certain: bool,
}

/// The abstract state.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) variables: Rc<BTreeMap<String, Variable>>,
    pub(super) arguments: Vec<PartialWord>,
    pub(super) name: PartialWord,
    pub(super) cwd: Rc<Vec<ShellDir>>,
    pub(super) previous: Rc<Vec<ShellDir>>,
    pub(super) stack: Vec<Rc<Vec<ShellDir>>>,
    pub(super) functions: Rc<BTreeMap<String, Function>>,
    pub(super) aliases: Rc<BTreeMap<String, String>>,
    pub(super) files: Rc<BTreeMap<CleanPath, Content>>,
    pub(super) links: Rc<BTreeMap<CleanPath, CleanPath>>,
    pub(super) made: Rc<BTreeSet<CleanPath>>,
    pub(super) exits_on_error: bool,
    /// Whether the line gave a variable the integer attribute.
    pub(super) integers: bool,
    /// Whether the line moved or removed something, so that directories may be gone.
    pub(super) dirs_may_be_gone: bool,
    /// Whether the line moved something: a directory may have another parent.
    pub(super) moved: bool,
    /// Where links may be now that the line moved or copied: what is beneath is unknown.
    pub(super) relocated: Rc<BTreeSet<CleanPath>>,
    /// Variables whose next value cannot be followed: read-only ones, and ones with attributes.
    pub(super) untracked: Rc<BTreeSet<String>>,
    /// Whether a variable is a name for another: then no value is known.
    pub(super) namerefs: bool,
}

/// Variables that the shell sets by itself: a value that the line assigns does not last.
const SET_BY_SHELL: &str = "_ BASH_ARGV0 BASH_REMATCH MAPFILE BASH_COMMAND DIRSTACK FUNCNAME PIPESTATUS BASH_SOURCE BASH_LINENO \
    COPROC GROUPS RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS EPOCHREALTIME BASHPID HISTCMD BASH_ARGV \
    BASH_ARGC BASH_SUBSHELL OPTARG OPTIND";

impl State {
    pub(super) fn new(cwd: &CleanPath) -> Self {
        Self {
            name: PartialWord::fixed("bash"),
            cwd: Rc::new(vec![ShellDir::At(cwd.clone())]),
            previous: Rc::new(vec![ShellDir::Unknown]),
            ..Self::default()
        }
    }

    /// The number of entries that a copy of the state copies.
    pub(super) fn entries(&self) -> usize {
        self.variables.len()
            + self.arguments.len()
            + self.stack.len()
            + self.functions.len()
            + self.aliases.len()
            + self.files.len()
            + self.links.len()
            + self.made.len()
            + self.relocated.len()
            + self.untracked.len()
    }

    /// Sets a variable to one of these values.
    pub(super) fn set(&mut self, name: &str, values: Vec<PartialWord>) {
        self.assign(name, Variable::Scalar(dedup_values(values)));
    }

    /// Sets a variable to this value.
    pub(super) fn assign(&mut self, name: &str, value: Variable) {
        if name == "BASH_ARGV0" {
            self.name = PartialWord::gap(ANYTHING);
        }
        if has_word(SET_BY_SHELL, name) {
            return;
        }
        let followed = !self.namerefs && !self.untracked.contains(name);
        let value = if followed { value } else { Variable::unknown() };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Forgets every value: an assignment may have changed any of them.
    pub(super) fn forget_variables(&mut self) {
        Rc::make_mut(&mut self.variables).values_mut().for_each(|value| *value = Variable::unknown());
        self.namerefs = true;
    }

    /// Follows a variable no longer.
    pub(super) fn untrack(&mut self, name: &str) {
        Rc::make_mut(&mut self.untracked).insert(name.to_owned());
    }

    /// Whether both know of the same files.
    fn has_same_files(&self, other: &Self) -> bool {
        self.files == other.files
            && self.links == other.links
            && self.made == other.made
            && self.dirs_may_be_gone == other.dirs_may_be_gone
            && self.moved == other.moved
            && self.relocated == other.relocated
    }

    /// What the line has written there, or unpacked somewhere above.
    pub(super) fn content(&self, place: &CleanPath) -> Option<&Content> {
        let above = || {
            place
                .as_path()
                .ancestors()
                .skip(1)
                .filter_map(CleanPath::absolute)
                .find_map(|dir| self.files.get(&dir))
        };
        self.files.get(place).or_else(|| above().filter(|content| **content == Content::Downloaded))
    }

    /// Whether commands mean the same in both.
    pub(super) fn runs_alike(&self, other: &Self) -> bool {
        self.variables == other.variables
            && self.cwd == other.cwd
            && self.aliases == other.aliases
            && self.has_same_files(other)
            && Rc::ptr_eq(&self.functions, &other.functions)
    }

    /// Adds what another process did to files, and nothing else of its state.
    pub(super) fn absorb(self: &mut Rc<Self>, other: &Rc<Self>) {
        if Rc::ptr_eq(self, other) || self.has_same_files(other) {
            return;
        }
        let ours = Rc::make_mut(self);
        update(&mut ours.files, &other.files, |ours, theirs| ours.extend(theirs.clone()));
        update(&mut ours.links, &other.links, |ours, theirs| ours.extend(theirs.clone()));
        update(&mut ours.made, &other.made, |ours, theirs| ours.extend(theirs.iter().cloned()));
        update(&mut ours.relocated, &other.relocated, |ours, theirs| ours.extend(theirs.iter().cloned()));
        ours.dirs_may_be_gone |= other.dirs_may_be_gone;
        ours.moved |= other.moved;
    }

    /// Changes to one of these directories.
    pub(super) fn change_dir(&mut self, to: impl Into<Rc<Vec<ShellDir>>>) {
        if ["PWD", "OLDPWD"].iter().any(|name| self.variables.contains_key(*name)) {
            Rc::make_mut(&mut self.variables).retain(|name, _| name != "PWD" && name != "OLDPWD");
        }
        self.previous = std::mem::replace(&mut self.cwd, to.into());
    }
}

/// Joins two states at the same point of the line.
pub(super) fn join(a: Rc<State>, b: Rc<State>) -> Rc<State> {
    if Rc::ptr_eq(&a, &b) {
        return a;
    }
    let mut both = Rc::unwrap_or_clone(a);
    if both.variables != b.variables {
        both.variables = join_variables(&both.variables, &b.variables).into();
    }
    if both.arguments != b.arguments {
        both.arguments = vec![PartialWord::gap(ANYTHING)];
    }
    join_dirs(&mut both.cwd, &b.cwd);
    join_dirs(&mut both.previous, &b.previous);
    if both.stack != b.stack {
        both.stack = vec![Rc::new(vec![ShellDir::Unknown])];
    }
    update(&mut both.functions, &b.functions, join_functions);
    update(&mut both.aliases, &b.aliases, add_missing);
    update(&mut both.files, &b.files, join_files);
    update(&mut both.links, &b.links, add_missing);
    update(&mut both.made, &b.made, |ours, theirs| ours.retain(|dir| theirs.contains(dir)));
    update(&mut both.relocated, &b.relocated, |ours, theirs| ours.extend(theirs.iter().cloned()));
    update(&mut both.untracked, &b.untracked, |ours, theirs| ours.extend(theirs.iter().cloned()));
    both.exits_on_error &= b.exits_on_error;
    both.integers |= b.integers;
    both.dirs_may_be_gone |= b.dirs_may_be_gone;
    both.moved |= b.moved;
    both.namerefs |= b.namerefs;
    if both.name != b.name {
        both.name = PartialWord::gap(ANYTHING);
    }
    Rc::new(both)
}

/// Changes a part of the state, unless both states share it.
fn update<T: Clone>(ours: &mut Rc<T>, theirs: &Rc<T>, change: impl FnOnce(&mut T, &T)) {
    if !Rc::ptr_eq(ours, theirs) {
        change(Rc::make_mut(ours), theirs);
    }
}

fn add_missing<K: Clone + Ord, V: Clone>(ours: &mut BTreeMap<K, V>, theirs: &BTreeMap<K, V>) {
    for (key, value) in theirs {
        ours.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

fn join_variables(
    a: &BTreeMap<String, Variable>,
    b: &BTreeMap<String, Variable>,
) -> BTreeMap<String, Variable> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |name: &String| {
        let one = |from: &BTreeMap<String, Variable>| {
            from.get(name).cloned().unwrap_or_else(|| unassigned_value(name))
        };
        (name.clone(), join_values(one(a), one(b)))
    };
    names.into_iter().map(value).collect()
}

fn join_functions(ours: &mut BTreeMap<String, Function>, theirs: &BTreeMap<String, Function>) {
    for (name, function) in ours.iter_mut() {
        function.is_certain &= theirs.get(name).is_some_and(|other| other.is_certain);
    }
    for (name, function) in theirs {
        let Some(known) = ours.get_mut(name) else {
            ours.insert(name.clone(), Function { is_certain: false, ..function.clone() });
            continue;
        };
        for body in &function.bodies {
            if !known.bodies.iter().any(|ours| Rc::ptr_eq(ours, body)) {
                known.bodies.push(body.clone());
            }
        }
    }
}

fn join_files(ours: &mut BTreeMap<CleanPath, Content>, theirs: &BTreeMap<CleanPath, Content>) {
    for (path, content) in theirs {
        match ours.get(path) {
            Some(known) if known == content => {}
            Some(Content::Downloaded) => {}
            Some(_) if *content != Content::Downloaded => {
                ours.insert(path.clone(), Content::Computed);
            }
            _ => {
                ours.insert(path.clone(), content.clone());
            }
        }
    }
}

/// The value of a variable that one branch has not assigned. By convention environment variables
/// are in capitals; a lower-case one that the line assigns elsewhere is empty here.
fn unassigned_value(name: &str) -> Variable {
    let environment = name.chars().any(|c| c.is_ascii_uppercase());
    Variable::Scalar(vec![if environment { PartialWord::gap(ANYTHING) } else { PartialWord::default() }])
}

fn join_values(a: Variable, b: Variable) -> Variable {
    match (a, b) {
        (a, b) if a == b => a,
        (Variable::Scalar(mut a), Variable::Scalar(b)) => {
            a.extend(b);
            Variable::Scalar(dedup_values(a))
        }
        (Variable::Unset, other) | (other, Variable::Unset) => match other {
            Variable::Scalar(mut values) => {
                values.push(PartialWord::default());
                Variable::Scalar(dedup_values(values))
            }
            _ => Variable::unknown(),
        },
        _ => Variable::unknown(),
    }
}

/// Without duplicates, up to the limit.
pub(super) fn dedup_values(mut values: Vec<PartialWord>) -> Vec<PartialWord> {
    if values.len() > 1 {
        values.sort();
        values.dedup();
    }
    if values.len() > MAX_VALUES {
        return vec![PartialWord::gap(ANYTHING)];
    }
    values
}

fn join_dirs(a: &mut Rc<Vec<ShellDir>>, b: &Rc<Vec<ShellDir>>) {
    if Rc::ptr_eq(a, b) {
        return;
    }
    for place in b.iter() {
        if !a.contains(place) {
            Rc::make_mut(a).push(place.clone());
        }
    }
    if a.len() > MAX_DIRS {
        *a = Rc::new(vec![ShellDir::Unknown]);
    }
}
