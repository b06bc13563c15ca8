//! Simple commands: assignments, redirections, and the words as arguments.
//!
//! Every possible list of arguments goes through [`Interpreter::invoke`].

use super::arithmetic::holds_code;
use super::dispatch::Invocation;
use super::interpreter::{Flow, Input, Interpreter, both};
use super::partial_word::{ANYTHING, CLASS, ONE, PartialWord, STAR, is_marked};
use super::state::{State, Variable};
use crate::intent::Access;
use crate::shell::ast::{Command, Simple};
use crate::shell::word::{Assignment, AssignmentOperator, PieceKind, Subscript, Value, Word};
use std::rc::Rc;

/// Maximum number of possible argument lists of one command.
const MAX_ARGUMENT_LISTS: usize = 48;

impl Interpreter<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &Simple,
        command: &Command,
        mut state: Rc<State>,
        input: &Input,
    ) -> Flow {
        if !self.count_step() {
            return Flow::either(state);
        }
        let assigned = self.assign_all(&simple.assignments, &mut state);
        let declares = simple.words.first().and_then(Word::literal).is_some_and(|name| is_declaration(&name));
        let lists = self.arguments(&simple.words, declares, &mut state);
        self.has_quoted_code |= lists.iter().flatten().any(holds_code);
        lists.iter().flatten().for_each(|field| self.judge_glob_dirs(field, &state));
        let redirected = self.judge_redirections(&command.redirections, &mut state);
        let input = redirected.input.as_ref().unwrap_or(input);
        if simple.words.is_empty() {
            for (name, value) in assigned {
                self.judge_environment(&name, &value, &state, Scope::Shell);
                Rc::make_mut(&mut state).assign(&name, value);
            }
            let mut flow = Flow::either(state);
            if command.redirections.is_empty() {
                flow.output = PartialWord::default();
            }
            self.record_output(&redirected.outputs, &PartialWord::default(), &mut flow);
            return flow;
        }
        let unchanged = redirected.may_fail.then(|| state.clone());
        let before = (!assigned.is_empty()).then(|| state.clone());
        for (name, value) in assigned {
            self.judge_environment(&name, &value, &state, Scope::Command);
            Rc::make_mut(&mut state).assign(&name, value);
        }
        let flows = lists
            .iter()
            .map(|argv| self.invoke(&Invocation { argv, input, span: Some(command.span) }, state.clone()));
        let mut flow = flows.reduce(Flow::or).unwrap_or_else(|| Flow::either(state));
        if let Some(before) = before {
            restore_assignments(&simple.assignments, &before, &mut flow);
        }
        self.record_output(&redirected.outputs, &flow.output.clone(), &mut flow);
        // A redirection that fails keeps the command from running.
        flow.fail = both(flow.fail, unchanged);
        if !redirected.outputs.is_empty() && redirected.quiet {
            flow.output = PartialWord::default();
        }
        flow
    }

    /// Judges the directories that the shell lists to expand a pattern.
    pub(super) fn judge_glob_dirs(&mut self, field: &PartialWord, state: &State) {
        let text = field.as_str();
        if !is_marked(text) || !text.contains([STAR, ONE, CLASS]) || text.contains("://") || field.is_open() {
            return;
        }
        // The directory of the last pattern is listed, and with it those before.
        let last = text.rfind([STAR, ONE, CLASS]).unwrap_or_default();
        if let Some(end) = text[..last].rfind('/') {
            self.judge_path(&text[..end.max(1)], Access::List, state);
        }
    }

    /// Every possible list of arguments.
    fn arguments(&mut self, words: &[Word], declares: bool, state: &mut Rc<State>) -> Vec<Vec<PartialWord>> {
        let mut lists: Vec<Vec<PartialWord>> = vec![Vec::with_capacity(words.len())];
        for word in words {
            if declares && word.literal_prefix().contains('=') {
                let value = self.assign_declaration(word, state);
                lists.iter_mut().for_each(|list| list.push(value.clone()));
                continue;
            }
            if let Some(text) = word.literal() {
                lists.iter_mut().for_each(|list| list.push(PartialWord::text(&*text)));
                continue;
            }
            let next = self.expand_word(word, state);
            if let [only] = next.as_slice() {
                lists.iter_mut().for_each(|list| list.extend_from_slice(only));
            } else if lists.len() * next.len() <= MAX_ARGUMENT_LISTS {
                let longer = |list: &Vec<PartialWord>, more: &Vec<PartialWord>| {
                    [list.as_slice(), more.as_slice()].concat()
                };
                lists =
                    lists.iter().flat_map(|list| next.iter().map(move |more| longer(list, more))).collect();
            } else {
                lists.iter_mut().for_each(|list| list.push(PartialWord::gap(ANYTHING)));
            }
        }
        lists
    }

    /// `name=value` after `export` and similar: assigned at once, and not split.
    fn assign_declaration(&mut self, word: &Word, state: &mut Rc<State>) -> PartialWord {
        if let Some(PieceKind::Array(elements)) = word.pieces.last().map(|piece| &piece.kind) {
            let elements = self.expand_elements(elements, state);
            let name = word.literal_prefix().trim_end_matches('=').to_owned();
            let value = Variable::Array(elements);
            self.judge_environment(&name, &value, state, Scope::Command);
            Rc::make_mut(state).assign(&name, value);
            return PartialWord::text(name);
        }
        let values = self.expand_scalar(word, state);
        let Some((name, _)) = values.first().and_then(|value| value.as_str().split_once('=')) else {
            return PartialWord::gap(ANYTHING);
        };
        let name = name.trim_end_matches('+').to_owned();
        let cut = |value: &PartialWord| {
            PartialWord::text(value.as_str().split_once('=').map_or("", |(_, value)| value))
        };
        let mut value = Variable::Scalar(values.iter().map(cut).collect());
        self.note_code(&value);
        if state.integers {
            self.judge_integer(&value, state);
        }
        if word.literal_prefix().split('=').next().is_some_and(|name| name.contains(['[', '+'])) {
            value = Variable::unknown();
        }
        let plain = name.split('[').next().unwrap_or_default();
        self.judge_environment(plain, &value, state, Scope::Command);
        Rc::make_mut(state).assign(plain, value);
        PartialWord::text(name)
    }

    fn assign_all(&mut self, assignments: &[Assignment], state: &mut Rc<State>) -> Vec<(String, Variable)> {
        let mut all = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            if let Some(Subscript::Index(index)) = &assignment.subscript {
                self.arithmetic(index, state);
            }
            let is_integer = state.integers || EVALUATED.contains(&assignment.name.as_str());
            let mut value = match &assignment.value {
                Value::Scalar(word) => Variable::Scalar(self.expand_scalar(word, state)),
                Value::Array(elements) => Variable::Array(self.expand_elements(elements, state)),
            };
            if is_integer {
                self.judge_integer(&value, state);
            }
            self.note_code(&value);
            let old = state.variables.get(&assignment.name);
            if assignment.subscript.is_some() {
                // Which element this is need not be known.
                value = Variable::unknown();
            } else if assignment.operator == AssignmentOperator::Append {
                value = match (old, value) {
                    (Some(Variable::Array(old)), Variable::Array(new)) => {
                        self.count_entries(old.len() + new.len());
                        Variable::Array(old.iter().cloned().chain(new).collect())
                    }
                    (_, Variable::Scalar(new)) => {
                        let old = self.lookup(&assignment.name, state);
                        let longer = |old: &PartialWord| {
                            new.iter().map(|new| append_words(old, new)).collect::<Vec<_>>()
                        };
                        Variable::Scalar(super::state::dedup_values(old.iter().flat_map(longer).collect()))
                    }
                    (_, other) => other,
                };
            }
            all.push((assignment.name.clone(), value));
        }
        all
    }
}

/// Variables whose value bash evaluates as arithmetic whenever it is assigned.
const EVALUATED: &[&str] =
    &["RANDOM", "SECONDS", "LINENO", "OPTIND", "HISTCMD", "SRANDOM", "BASHPID", "COLUMNS", "LINES"];

/// The environment that an assignment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The shell's.
    Shell,
    /// One command's.
    Command,
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

/// Assignments before a command last as long as the command.
fn restore_assignments(assignments: &[Assignment], before: &Rc<State>, flow: &mut Flow) {
    for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
        let variables = Rc::make_mut(&mut Rc::make_mut(state).variables);
        for assignment in assignments {
            match before.variables.get(&assignment.name) {
                Some(value) => variables.insert(assignment.name.clone(), value.clone()),
                None => variables.remove(&assignment.name),
            };
        }
    }
}

fn append_words(old: &PartialWord, new: &PartialWord) -> PartialWord {
    if old.as_str().len() + new.as_str().len() > 16 * 1024 {
        return PartialWord::gap(ANYTHING);
    }
    PartialWord::text(format!("{}{}", old.as_str(), new.as_str()))
}
