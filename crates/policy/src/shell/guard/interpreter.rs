//! Abstract interpretation of the AST: follows a script without running anything, and judges every
//! simple command in every state it can run in.
//!
//! Both outcomes of a condition are followed, loops to a fixed point. A subshell's variables are
//! dropped, the files it creates are not.

use super::context::GuardContext;
use super::finding::{Finding, Kind, Remedy};
use super::guard::{Guard, ParsedCommand};
use super::partial_word::{ANYTHING, CLASS, DOWNLOADED, ONE, PartialWord, STAR, render_marks};
use super::state::{Function, State, join};
use crate::path::CleanPath;
use crate::shell::ast::{Command, CommandKind, Connector, Ending, Pipeline, Script, Statement};
use crate::shell::span::Span;
use crate::shell::{Dialect, parse};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Maximum nesting of lists, strings and calls.
pub(super) const MAX_NESTING: usize = 32;
/// Maximum number of steps of one line, of about 20 µs at most: a command, a path, or a part of the
/// work that grows with the text, the lists and the state of the line.
const MAX_STEPS: usize = 2_000;
/// Entries of the state or of a list that cost a step.
const ENTRIES_PER_STEP: usize = 16;
/// Bytes that are read, compared or copied for a step.
const BYTES_PER_STEP: usize = 512;
/// What parsing a byte takes, compared with reading it.
const PARSE_COST: usize = 8;

/// The standard input of a command.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// The shell's own.
    Inherited,
    /// The output of another command.
    Piped(PartialWord),
    /// A here-document or here-string.
    Text(PartialWord),
    /// One of these files.
    File(Vec<CleanPath>),
}

/// How a command can end, and what it prints.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// The state after success; `None` if it cannot succeed.
    pub(super) ok: Option<Rc<State>>,
    /// The state after failure; `None` if it cannot fail.
    pub(super) fail: Option<Rc<State>>,
    /// The state in which the shell exits here, if it does.
    pub(super) ended: Option<Rc<State>>,
    /// What it prints.
    pub(super) output: PartialWord,
}

impl Flow {
    /// Success without output.
    pub(super) fn ok(state: Rc<State>) -> Self {
        Self { ok: Some(state), fail: None, ended: None, output: PartialWord::default() }
    }

    /// Success or failure, in the same state.
    pub(super) fn either(state: Rc<State>) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state), ended: None, output: PartialWord::gap(ANYTHING) }
    }

    pub(super) fn printing(mut self, output: PartialWord) -> Self {
        self.output = output;
        self
    }

    /// One of two flows.
    pub(super) fn or(self, other: Self) -> Self {
        let output = if self.output == other.output { other.output } else { PartialWord::gap(ANYTHING) };
        Self {
            ok: both(self.ok, other.ok),
            fail: both(self.fail, other.fail),
            ended: both(self.ended, other.ended),
            output,
        }
    }

    /// The state afterwards, whatever the outcome.
    pub(super) fn after(self) -> Option<Rc<State>> {
        both(self.ok, self.fail)
    }
}

pub(super) fn both(a: Option<Rc<State>>, b: Option<Rc<State>>) -> Option<Rc<State>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}

/// A function call in progress.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) parallel: usize,
    pub(super) args: Vec<PartialWord>,
}

/// The interpretation of one command line.
pub(super) struct Interpreter<'a> {
    pub(super) guard: &'a Guard,
    pub(super) context: &'a GuardContext<'a>,
    /// The text that spans point into.
    pub(super) text: String,
    pub(super) findings: Vec<Finding>,
    pub(super) commands: Vec<ParsedCommand>,
    /// Parts of the outermost text that an allow pattern covers.
    pub(super) allowed: Vec<Span>,
    /// Parts of it that a suggested allow pattern would cover.
    pub(super) suggested: Vec<(Span, String)>,
    pub(super) calls: Vec<Call>,
    /// Number of enclosing pipelines and background commands.
    pub(super) parallel: usize,
    pub(super) conditional: usize,
    pub(super) depth: usize,
    /// The dialect of the current text.
    pub(super) dialect: Dialect,
    /// Number of enclosing strings that are parsed as code.
    pub(super) nested: usize,
    /// Index of the current simple command; `None` between commands, and in a nested text.
    pub(super) current: Option<usize>,
    /// Whether a word of the line contains a substitution that is not expanded yet.
    pub(super) has_quoted_code: bool,
    /// The state at every `return`, `break` and `continue` of the current function or loop.
    pub(super) escaped: Option<Rc<State>>,
    /// Names that the functions in progress have made local.
    pub(super) locals: Vec<Vec<String>>,
    /// Whether an allow pattern covers the current simple command.
    pub(super) lifted: bool,
    /// Whether a shell reads the current text from its standard input.
    pub(super) script_is_input: bool,
    /// The shell's own input, if `exec` has replaced it.
    pub(super) replaced_input: Option<Input>,
    /// Number of strings of other languages that were parsed as commands.
    pub(super) strings: usize,
    /// Aliases that the line gave to git; they outlast the shell that defines them.
    pub(super) git_aliases: BTreeSet<(String, String)>,
    /// Code that the shell keeps and runs later, in whatever state it is in then: traps, prompts.
    pub(super) stored: Vec<PartialWord>,
    pub(super) seen: BTreeSet<(String, String, Remedy)>,
    spent: Cell<usize>,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(guard: &'a Guard, context: &'a GuardContext<'a>, text: &str) -> Self {
        Self {
            guard,
            context,
            text: text.to_owned(),
            findings: Vec::new(),
            commands: Vec::new(),
            allowed: Vec::new(),
            suggested: Vec::new(),
            calls: Vec::new(),
            parallel: 0,
            conditional: 0,
            depth: 0,
            dialect: context.dialect,
            nested: 0,
            current: None,
            has_quoted_code: false,
            escaped: None,
            locals: Vec::new(),
            lifted: false,
            script_is_input: context.script_is_input,
            replaced_input: None,
            strings: 0,
            git_aliases: BTreeSet::new(),
            stored: Vec::new(),
            seen: BTreeSet::new(),
            spent: Cell::new(0),
        }
    }

    /// Reports a finding; duplicates count once.
    pub(super) fn report(&mut self, finding: Finding) {
        if finding.kind == Kind::Danger && (self.lifted || !self.guard.denies()) {
            return;
        }
        if self.seen.insert((finding.rule.clone(), finding.words.clone(), finding.remedy.clone())) {
            self.findings.push(finding);
        }
    }

    /// Reports something that cannot be followed.
    pub(super) fn report_not_understood(&mut self, what: &str, words: &str) {
        let why = format!("the guard cannot tell what this runs: {what}");
        let remedy = Remedy::Rewrite("write the command out, so that its text says what it does".to_owned());
        self.report(Finding::new(Kind::NotUnderstood, "not-understood", why, render_marks(words), remedy));
    }

    /// Counts a command or path; `false` beyond the limit.
    pub(super) fn count_step(&self) -> bool {
        self.spend(1);
        !self.is_spent()
    }

    fn spend(&self, steps: usize) {
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// Counts the entries of a list or of the state, each of which is copied or compared.
    pub(super) fn count_entries(&self, entries: usize) {
        self.spend(entries / ENTRIES_PER_STEP);
    }

    /// Counts the bytes of a text that is read.
    pub(super) fn count_bytes(&self, bytes: usize) {
        self.spend(bytes / BYTES_PER_STEP);
    }

    /// Ends the interpretation: a line that was not followed to its end is not understood.
    pub(super) fn finish(&mut self) {
        if self.is_spent() {
            self.report_not_understood("the line comes down to too many commands and paths", "");
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.spent.get() >= MAX_STEPS
    }

    /// Interprets a text that a program passes to `/bin/sh`, which need not be the line's own
    /// shell.
    pub(super) fn interpret_with_sh(&mut self, code: &PartialWord, state: &Rc<State>, input: &Input) -> Flow {
        self.interpret_as(Dialect::Posix, code, state, input)
    }

    /// Interprets a text as a script of the given dialect.
    pub(super) fn interpret_as(
        &mut self,
        dialect: Dialect,
        code: &PartialWord,
        state: &Rc<State>,
        input: &Input,
    ) -> Flow {
        let outer = std::mem::replace(&mut self.dialect, dialect);
        let flow = self.interpret_string(code, state, input);
        self.dialect = outer;
        flow
    }

    /// Interprets a text that the current shell would run as a script, in the state it starts with.
    pub(super) fn interpret_string(&mut self, code: &PartialWord, state: &Rc<State>, input: &Input) -> Flow {
        let flow = Flow::either(state.clone());
        // A plain name in a gap is a word of the script, never the name of a command.
        let readable = !code.as_str().contains([ANYTHING, DOWNLOADED, STAR, ONE, CLASS])
            || self.is_partly_known(code.as_str());
        let Some(code) = Some(code.as_str()).filter(|_| readable) else {
            self.report_computed("unknown-code", "a string that is run as a command", code.as_str());
            return flow;
        };
        self.count_bytes(PARSE_COST * code.len());
        if self.is_spent() {
            return flow;
        }
        let script = match parse(code, self.dialect) {
            Ok(script) => script,
            Err(fault) => {
                self.report_not_understood(&fault.what, code);
                return flow;
            }
        };
        let outer = std::mem::replace(&mut self.text, code.to_owned());
        let lifted = std::mem::take(&mut self.lifted);
        let at_hand = self.current.take();
        self.nested += 1;
        if self.script_is_input {
            self.judge_lines(code, &script);
        }
        let flow = self.script(&script, state.clone(), input);
        self.nested -= 1;
        self.current = at_hand;
        self.lifted = lifted;
        self.text = outer;
        flow
    }

    /// A whole list, from the state before it.
    pub(super) fn script(&mut self, script: &Script, state: Rc<State>, input: &Input) -> Flow {
        self.depth += 1;
        let flow = if self.depth > MAX_NESTING {
            let words = script.span.of(&self.text).to_owned();
            self.report_not_understood("the line is nested too deep", &words);
            Flow::either(state)
        } else {
            let mut flow = Flow::ok(state);
            let mut printed = Vec::new();
            for statement in &script.statements {
                if self.is_spent() {
                    break;
                }
                // What follows an `exit` is judged as well, to be safe.
                let Some(before) = both(flow.ok.take(), flow.fail.take()).or(flow.ended.take()) else {
                    break;
                };
                let start = (!self.stored.is_empty()).then(|| before.clone());
                flow = self.statement(statement, before, input);
                if let Some(start) = start {
                    self.run_stored(&start, &flow);
                }
                printed.push(std::mem::take(&mut flow.output));
            }
            flow.output = sequence(&printed);
            flow
        };
        self.depth -= 1;
        flow
    }

    /// A list in a subshell: its variables are lost, its files stay. Returns its output.
    pub(super) fn subshell(&mut self, script: &Script, state: &mut Rc<State>, input: &Input) -> PartialWord {
        let flow = self.script(script, state.clone(), input);
        self.absorb(state, &flow);
        flow.output
    }

    /// Adds what a subshell or another process did to files.
    pub(super) fn absorb(&self, outer: &mut Rc<State>, inner: &Flow) {
        [&inner.ok, &inner.fail].into_iter().flatten().for_each(|state| outer.absorb(state));
    }

    fn statement(&mut self, statement: &Statement, mut state: Rc<State>, input: &Input) -> Flow {
        if !self.count_step() {
            return Flow::either(state);
        }
        if statement.ending == Ending::Background {
            self.parallel += 1;
            let flow = self.chain(statement, state.clone(), input);
            self.parallel -= 1;
            self.absorb(&mut state, &flow);
            return Flow::ok(state).printing(PartialWord::gap(ANYTHING));
        }
        self.chain(statement, state, input)
    }

    fn chain(&mut self, statement: &Statement, state: Rc<State>, input: &Input) -> Flow {
        if statement.rest.is_empty() {
            let mut flow = self.pipeline(&statement.first, state, input);
            let is_checked = self.conditional == 0 && statement.first.negations == 0;
            if is_checked && flow.ok.as_ref().is_some_and(|state| state.exits_on_error) {
                flow.fail = None;
            }
            return flow;
        }
        self.conditional += 1;
        let mut flow = self.pipeline(&statement.first, state.clone(), input);
        self.conditional -= 1;
        for (connector, pipeline) in &statement.rest {
            if self.is_spent() {
                break;
            }
            let (taken, other) = match connector {
                Connector::And => (flow.ok, flow.fail),
                Connector::Or => (flow.fail, flow.ok),
            };
            // An impossible branch is followed too: its commands are judged, its state is dropped.
            let reachable = taken.is_some();
            let start = taken.or_else(|| other.clone()).unwrap_or_else(|| state.clone());
            let next = self.pipeline(pipeline, start, input);
            let output = sequence(&[flow.output, next.output]);
            let (ok, fail) = if reachable { (next.ok, next.fail) } else { (None, None) };
            let ended = flow.ended.or(next.ended);
            flow = match connector {
                Connector::And => Flow { ok, fail: both(other, fail), ended, output },
                Connector::Or => Flow { ok: both(other, ok), fail, ended, output },
            };
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &Pipeline, mut state: Rc<State>, input: &Input) -> Flow {
        let mut flow = match pipeline.commands.as_slice() {
            [] => Flow::either(state),
            [only] => self.command(only, state, input),
            [first, rest @ ..] => {
                self.parallel += 1;
                let mut last = self.command(first, state.clone(), input);
                self.absorb(&mut state, &last);
                for command in rest {
                    if self.is_spent() {
                        break;
                    }
                    last = self.command(command, state.clone(), &Input::Piped(last.output));
                    self.absorb(&mut state, &last);
                }
                self.parallel -= 1;
                Flow::either(state).printing(last.output)
            }
        };
        if pipeline.negations % 2 == 1 {
            std::mem::swap(&mut flow.ok, &mut flow.fail);
        }
        flow
    }

    pub(super) fn command(&mut self, command: &Command, mut state: Rc<State>, input: &Input) -> Flow {
        // The state is copied and joined at most a few times for each command.
        self.count_entries(state.entries());
        if !self.count_step() {
            return Flow::either(state);
        }
        if let CommandKind::Simple(simple) = &command.kind {
            return self.simple(simple, command, state, input);
        }
        if let CommandKind::Function(function) = &command.kind {
            let mut body = (*function.body).clone();
            body.redirections.extend(command.redirections.iter().cloned());
            let defined = Function { bodies: vec![Rc::new(body.clone())], is_certain: true };
            Rc::make_mut(&mut Rc::make_mut(&mut state).functions).insert(function.name.clone(), defined);
            // The shell itself calls this function when a command is not found.
            if function.name == "command_not_found_handle" {
                let mut inner = (*state).clone();
                inner.arguments = vec![PartialWord::gap(ANYTHING)];
                self.command(&body, Rc::new(inner), input);
            }
            return Flow::ok(state);
        }
        let redirected = self.judge_redirections(&command.redirections, &mut state);
        let input = redirected.input.as_ref().unwrap_or(input);
        let mut flow = self.compound(&command.kind, state, input);
        self.record_output(&redirected.outputs, &flow.output.clone(), &mut flow);
        flow
    }
}

/// The output of all commands of a list, in order.
pub(super) fn sequence(printed: &[PartialWord]) -> PartialWord {
    let mut some = printed.iter().filter(|field| !field.as_str().is_empty());
    match (some.next(), some.next()) {
        (None, _) => PartialWord::default(),
        (Some(only), None) => only.clone(),
        _ => PartialWord::gap(ANYTHING),
    }
}
