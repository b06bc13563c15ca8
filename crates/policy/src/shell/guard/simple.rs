//! Simple commands: assignments, redirections, and the words once they are arguments.
//!
//! Invariant: every possible list of arguments goes through [`Walker::invoke`], whatever wraps it.

use super::builtins::Language;
use super::field::{ANYTHING, CLASS, DOWNLOADED, Field, ONE, STAR, is_marked};
use super::finding::{Finding, Kind, Remedy};
use super::judge::Understood;
use super::options::Invocation;
use super::state::{Content, State, Variable};
use super::walk::{Call, Flow, Input, Walker, both};
use crate::intent::Access;
use crate::path::CleanPath;
use crate::shell::span::Span;
use crate::shell::tree::{Command, Descriptor, Duplicate, FileMode, Redirection, RedirectionKind, Simple};
use crate::shell::word::{Assignment, AssignmentOperator, PieceKind, Subscript, Value, Word};
use std::rc::Rc;

/// More possible argument lists of one command than this become gaps.
const MOST_LISTS: usize = 48;

/// What the redirections of a command do.
pub(super) struct Redirected {
    pub(super) input: Option<Input>,
    pub(super) outputs: Vec<(CleanPath, FileMode)>,
    /// Files that are read beside standard input.
    pub(super) quiet: bool,
}

/// One command about to be judged: its words, and what they came with.
pub(super) struct Given<'g> {
    /// The arguments, the name first.
    pub(super) argv: &'g [Field],
    /// What it reads.
    pub(super) input: &'g Input,
    /// Where it stands in the text; `None` when it was put together from arguments.
    pub(super) span: Option<Span>,
}

impl Walker<'_> {
    pub(super) fn simple(
        &mut self,
        simple: &Simple,
        command: &Command,
        mut state: Rc<State>,
        input: &Input,
    ) -> Flow {
        if !self.spend() {
            return Flow::either(state);
        }
        let assigned = self.assigned(&simple.assignments, &mut state);
        let declares = simple.words.first().and_then(Word::literal).is_some_and(|name| is_declaration(&name));
        let lists = self.arguments(&simple.words, declares, &mut state);
        lists.iter().flatten().for_each(|field| self.listed(field, &state));
        let redirected = self.redirections(&command.redirections, &mut state);
        let input = redirected.input.as_ref().unwrap_or(input);
        if simple.words.is_empty() {
            for (name, value) in assigned {
                self.environment(&name, &value, &state, Scope::Shell);
                Rc::make_mut(&mut state).variables.insert(name, value);
            }
            let mut flow = Flow { ok: Some(state.clone()), fail: Some(state), output: Field::gap(ANYTHING) };
            if command.redirections.is_empty() {
                flow.output = Field::default();
            }
            self.written(&redirected.outputs, &Field::default(), &mut flow);
            return flow;
        }
        let before = state.clone();
        for (name, value) in assigned {
            self.environment(&name, &value, &state, Scope::Command);
            Rc::make_mut(&mut state).variables.insert(name, value);
        }
        let mut result: Option<Flow> = None;
        for argv in &lists {
            let given = Given { argv, input, span: Some(command.span) };
            let flow = self.invoke(&given, state.clone());
            result = Some(match result {
                None => flow,
                Some(other) => {
                    let output = if other.output == flow.output { flow.output } else { Field::gap(ANYTHING) };
                    Flow { ok: both(other.ok, flow.ok), fail: both(other.fail, flow.fail), output }
                }
            });
        }
        let mut flow = result.unwrap_or_else(|| Flow::either(state));
        restore(&simple.assignments, &before, &mut flow);
        self.written(&redirected.outputs, &flow.output.clone(), &mut flow);
        if redirected.outputs.iter().any(|_| true) && redirected.quiet {
            flow.output = Field::default();
        }
        flow
    }

    /// A pattern makes the shell itself read directories, whatever becomes of the names.
    pub(super) fn listed(&mut self, field: &Field, state: &State) {
        let text = field.as_str();
        if is_marked(text)
            && text.contains('/')
            && text.contains([STAR, ONE, CLASS])
            && !text.contains("://")
            && !field.is_open()
        {
            self.path(text, Access::List, state);
        }
    }

    /// Every possible list of arguments.
    fn arguments(&mut self, words: &[Word], declares: bool, state: &mut Rc<State>) -> Vec<Vec<Field>> {
        let mut lists: Vec<Vec<Field>> = vec![Vec::with_capacity(words.len())];
        for word in words {
            if declares && word.literal_prefix().contains('=') {
                let value = self.declared(word, state);
                lists.iter_mut().for_each(|list| list.push(value.clone()));
                continue;
            }
            let next = self.fields(word, state);
            if let [only] = next.as_slice() {
                lists.iter_mut().for_each(|list| list.extend_from_slice(only));
            } else if lists.len() * next.len() <= MOST_LISTS {
                let longer =
                    |list: &Vec<Field>, more: &Vec<Field>| [list.as_slice(), more.as_slice()].concat();
                lists =
                    lists.iter().flat_map(|list| next.iter().map(move |more| longer(list, more))).collect();
            } else {
                lists.iter_mut().for_each(|list| list.push(Field::gap(ANYTHING)));
            }
        }
        lists
    }

    /// `name=value` behind `export` and its like: assigned at once, and not split.
    fn declared(&mut self, word: &Word, state: &mut Rc<State>) -> Field {
        if let Some(PieceKind::Array(elements)) = word.pieces.last().map(|piece| &piece.kind) {
            let elements = self.elements(elements, state);
            let name = word.literal_prefix().trim_end_matches('=').to_owned();
            Rc::make_mut(state).variables.insert(name.clone(), Variable::Array(elements));
            return Field(name);
        }
        let values = self.scalar(word, state);
        let Some((name, _)) = values.first().and_then(|value| value.as_str().split_once('=')) else {
            return Field::gap(ANYTHING);
        };
        let name = name.trim_end_matches('+').to_owned();
        let cut = |value: &Field| Field::text(value.as_str().split_once('=').map_or("", |(_, value)| value));
        let value = Variable::Scalar(values.iter().map(cut).collect());
        self.environment(&name, &value, state, Scope::Command);
        Rc::make_mut(state).variables.insert(name.clone(), value);
        Field(name)
    }

    fn assigned(&mut self, assignments: &[Assignment], state: &mut Rc<State>) -> Vec<(String, Variable)> {
        let mut all = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            if let Some(Subscript::Index(index)) = &assignment.subscript {
                self.arithmetic(index, state);
            }
            let mut value = match &assignment.value {
                Value::Scalar(word) => Variable::Scalar(self.scalar(word, state)),
                Value::Array(elements) => Variable::Array(self.elements(elements, state)),
            };
            let old = state.variables.get(&assignment.name);
            if assignment.subscript.is_some() {
                value = match (old, value) {
                    (Some(Variable::Array(old)), Variable::Scalar(new)) => {
                        Variable::Array(old.iter().cloned().chain(new).collect())
                    }
                    (_, Variable::Scalar(new)) => Variable::Array(new),
                    (_, other) => other,
                };
            } else if assignment.operator == AssignmentOperator::Append {
                value = match (old, value) {
                    (Some(Variable::Array(old)), Variable::Array(new)) => {
                        Variable::Array(old.iter().cloned().chain(new).collect())
                    }
                    (_, Variable::Scalar(new)) => {
                        let old = self.lookup(&assignment.name, state);
                        let longer = |old: &Field| new.iter().map(|new| joined(old, new)).collect::<Vec<_>>();
                        Variable::Scalar(super::state::capped(old.iter().flat_map(longer).collect()))
                    }
                    (_, other) => other,
                };
            }
            all.push((assignment.name.clone(), value));
        }
        all
    }

    /// Judges every redirection, and says what the command reads and which files it makes.
    pub(super) fn redirections(&mut self, redirections: &[Redirection], state: &mut Rc<State>) -> Redirected {
        let mut all = Redirected { input: None, outputs: Vec::new(), quiet: false };
        for redirection in redirections {
            let number = match &redirection.descriptor {
                None => None,
                Some(Descriptor::Number(number)) => Some(*number),
                Some(Descriptor::Variable(_)) => Some(u32::MAX),
            };
            match &redirection.kind {
                RedirectionKind::File(mode, word) => {
                    for target in self.scalar(word, state) {
                        self.redirected(&target, *mode, number, state, &mut all);
                    }
                }
                RedirectionKind::Duplicate(way, word) => {
                    for target in self.scalar(word, state) {
                        let text = target.as_str();
                        let descriptor = !text.is_empty()
                            && text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                        if *way == Duplicate::Output && !descriptor {
                            self.redirected(&target, FileMode::WriteBoth, None, state, &mut all);
                        } else if *way == Duplicate::Input && number.unwrap_or(0) == 0 && text != "-" {
                            all.input = Some(Input::Piped(Field::gap(ANYTHING)));
                        }
                    }
                }
                RedirectionKind::HereString(word) => {
                    let text = one_of(self.scalar(word, state));
                    all.input = Some(Input::Text(text));
                }
                RedirectionKind::HereDocument(document) => {
                    let text = one_of(self.text_of(document.body(), state));
                    if number.unwrap_or(0) == 0 {
                        all.input = Some(Input::Text(text));
                    }
                }
            }
        }
        all
    }

    fn redirected(
        &mut self,
        target: &Field,
        mode: FileMode,
        number: Option<u32>,
        state: &State,
        all: &mut Redirected,
    ) {
        let access = if mode == FileMode::Read { Access::Read } else { Access::Write };
        let text = target.as_str();
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.deny("raw-connection", "a redirection that is a network connection", text);
            return;
        }
        let places = self.path(text, access, state);
        if mode == FileMode::Read {
            if number.unwrap_or(0) == 0 {
                let stream = text.starts_with("/dev/fd/");
                all.input =
                    Some(if stream { Input::Piped(Field::gap(ANYTHING)) } else { Input::File(places) });
            }
            return;
        }
        if matches!(number, None | Some(1)) {
            all.outputs.extend(places.into_iter().map(|place| (place, mode)));
            all.quiet = true;
        }
    }

    /// Remembers what a redirection leaves in its files.
    pub(super) fn written(&mut self, outputs: &[(CleanPath, FileMode)], output: &Field, flow: &mut Flow) {
        for (path, mode) in outputs {
            for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
                let mut content = content_of(output);
                if matches!(mode, FileMode::Append | FileMode::AppendBoth) {
                    content = match (state.files.get(path), content) {
                        (Some(Content::Downloaded), _) | (_, Content::Downloaded) => Content::Downloaded,
                        (Some(Content::Known(old)), Content::Known(new)) => {
                            Content::Known(format!("{old}{new}"))
                        }
                        _ => Content::Computed,
                    };
                }
                Rc::make_mut(state).files.insert(path.clone(), content);
            }
        }
    }

    /// Judges one command, whoever runs it: the shell, or a wrapper.
    pub(super) fn invoke(&mut self, given: &Given<'_>, state: Rc<State>) -> Flow {
        if !self.spend() {
            return Flow::either(state);
        }
        let normal = given.argv.iter().map(Field::to_string).collect::<Vec<_>>().join(" ");
        let source = given.span.map_or("", |span| span.of(&self.text));
        let before = self.lifted;
        if self.guard.allows(&normal) || (!source.is_empty() && self.guard.allows(source.trim())) {
            self.lifted = true;
            if let (0, Some(span)) = (self.nested, given.span) {
                self.allowed.push(span);
            }
        }
        if let Some(pattern) = self.guard.custom_denied(&normal).map(str::to_owned) {
            self.custom(&pattern, &normal);
        }
        let at = self.commands.len();
        self.commands.push(Understood::new(given.argv, &state));
        let found = self.findings.len();
        let flow = self.dispatch(given, state);
        let rules = self.findings[found..].iter().map(|finding| finding.rule.clone()).collect();
        if let Some(understood) = self.commands.get_mut(at) {
            understood.rules = rules;
        }
        self.lifted = before;
        flow
    }

    fn dispatch(&mut self, given: &Given<'_>, state: Rc<State>) -> Flow {
        let [first, args @ ..] = given.argv else { return Flow::either(state) };
        let Some(name) = first.known() else {
            self.unknown_name(first, given.argv);
            return Flow::either(state);
        };
        if name.is_empty() {
            return Flow::either(state).printing(Field::default());
        }
        if let Some(routine) = state.functions.get(name) {
            let body = routine.body.clone();
            return self.call(name, args, &body, &state, given.input);
        }
        let base = match name.rsplit_once('/') {
            Some((_, base)) => {
                for place in self.program(name, &state) {
                    self.run_file(&place, Language::Shell, &state, given);
                }
                base
            }
            None => name,
        };
        let invocation = Invocation { name: base, args, input: given.input };
        if let Some(flow) = self.builtin(&invocation, given, &state) {
            return flow;
        }
        self.families(&invocation);
        if base == "git" {
            self.git(&invocation, given, &state);
        }
        self.programs(&invocation, given, &state);
        if let Some(unwrapped) = self.unwrap(&invocation, given, &state) {
            self.by_profile(&args[..unwrapped.own.min(args.len())], super::profile::of(base), &state);
            return unwrapped.flow;
        }
        let interpreted = self.interpreted(&invocation, given, &state);
        self.operands(&invocation, &state);
        match interpreted {
            Some(flow) => flow,
            None => self.effects(&invocation, state),
        }
    }

    /// A call of a function that the line defines.
    fn call(&mut self, name: &str, args: &[Field], body: &Command, state: &Rc<State>, input: &Input) -> Flow {
        if let Some(call) = self.calls.iter().find(|call| call.name == name) {
            if self.parallel > call.parallel {
                self.deny("fork-bomb", "a function that starts itself again beside itself", name);
            }
            return Flow::either(state.clone());
        }
        if self.calls.len() > 32 {
            self.not_understood("functions call each other too deep", name);
            return Flow::either(state.clone());
        }
        self.calls.push(Call { name: name.to_owned(), parallel: self.parallel });
        let mut inner = (**state).clone();
        let arguments = std::mem::replace(&mut inner.arguments, args.to_vec());
        let lifted = std::mem::take(&mut self.lifted);
        let mut flow = self.command(body, Rc::new(inner), input);
        self.lifted = lifted;
        self.calls.pop();
        for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
            Rc::make_mut(state).arguments.clone_from(&arguments);
        }
        flow
    }

    fn unknown_name(&mut self, name: &Field, argv: &[Field]) {
        let words = argv.iter().map(Field::to_string).collect::<Vec<_>>().join(" ");
        self.report(Finding {
            kind: Kind::NotUnderstood,
            rule: "unknown-command".to_owned(),
            why: format!("the name of the command, `{name}`, is only known when it runs"),
            words,
            remedy: Remedy::Rewrite("write the name of the command out".to_owned()),
        });
    }

    /// Takes a note of a dangerous command.
    pub(super) fn deny(&mut self, rule: &str, why: &str, words: &str) {
        let words = super::field::shown(words);
        let pattern = format!("^{}$", regex::escape(&words));
        self.report(Finding {
            kind: Kind::Danger,
            rule: rule.to_owned(),
            why: why.to_owned(),
            words,
            remedy: Remedy::AllowPattern(pattern),
        });
    }

    /// Takes a note of something dangerous at a place of the text.
    pub(super) fn danger(&mut self, rule: &str, why: &str, span: Span) {
        let words = span.of(&self.text).to_owned();
        self.deny(rule, why, &words);
    }

    fn custom(&mut self, pattern: &str, words: &str) {
        self.report(Finding {
            kind: Kind::Danger,
            rule: format!("custom_deny_patterns:{pattern}"),
            why: "a pattern of the configuration matches".to_owned(),
            words: words.to_owned(),
            remedy: Remedy::DropDeny(pattern.to_owned()),
        });
    }
}

/// Whose environment an assignment changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The shell's own.
    Shell,
    /// A program's.
    Command,
}

fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

/// Assignments before a command last as long as the command.
fn restore(assignments: &[Assignment], before: &Rc<State>, flow: &mut Flow) {
    if assignments.is_empty() {
        return;
    }
    for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
        let state = Rc::make_mut(state);
        for assignment in assignments {
            match before.variables.get(&assignment.name) {
                Some(value) => state.variables.insert(assignment.name.clone(), value.clone()),
                None => state.variables.remove(&assignment.name),
            };
        }
    }
}

fn joined(old: &Field, new: &Field) -> Field {
    if old.as_str().len() + new.as_str().len() > 16 * 1024 {
        return Field::gap(ANYTHING);
    }
    Field(format!("{}{}", old.as_str(), new.as_str()))
}

pub(super) fn one_of(mut values: Vec<Field>) -> Field {
    if values.len() == 1 { values.remove(0) } else { Field::gap(ANYTHING) }
}

/// What a file holds when this is written to it.
pub(super) fn content_of(output: &Field) -> Content {
    let text = output.as_str();
    if text.contains(DOWNLOADED) {
        Content::Downloaded
    } else if is_marked(text) {
        Content::Computed
    } else {
        Content::Known(text.to_owned())
    }
}
