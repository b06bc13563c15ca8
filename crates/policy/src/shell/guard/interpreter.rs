//! Follows a script as a shell would, without running anything, and hands every simple command to the rules.
//!
//! Both ways of a condition are followed, loops until nothing new happens; a subshell's variables stay in it, the
//! files it makes do not.
//!
//! Invariant: every command that the script can run is judged at least once, under every state it can run in.

use super::context::GuardContext;
use super::finding::{Finding, Kind, Remedy};
use super::guard::{Guard, ParsedCommand};
use super::partial_word::{ANYTHING, CLASS, DOWNLOADED, ONE, PartialWord, STAR};
use super::state::{State, join};
use crate::path::CleanPath;
use crate::shell::ast::{Command, CommandKind, Connector, Ending, Pipeline, Script, Statement};
use crate::shell::span::Span;
use crate::shell::{Dialect, parse};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Lists inside lists, strings inside strings, calls inside calls: deeper than this is refused.
pub(super) const DEEPEST: usize = 32;
/// Commands and paths that one line may come down to.
const MOST_STEPS: usize = 2_000;

/// What a command reads.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// Whatever the shell itself reads.
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
    /// The state after success; `None` when it cannot succeed.
    pub(super) ok: Option<Rc<State>>,
    /// The state after failure; `None` when it cannot fail.
    pub(super) fail: Option<Rc<State>>,
    /// The state in which the shell ends here, when it does.
    pub(super) ended: Option<Rc<State>>,
    /// What it prints.
    pub(super) output: PartialWord,
}

impl Flow {
    /// Success, nothing printed.
    pub(super) fn ok(state: Rc<State>) -> Self {
        Self { ok: Some(state), fail: None, ended: None, output: PartialWord::default() }
    }

    /// Success or failure, nothing remembered.
    pub(super) fn either(state: Rc<State>) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state), ended: None, output: PartialWord::gap(ANYTHING) }
    }

    pub(super) fn printing(mut self, output: PartialWord) -> Self {
        self.output = output;
        self
    }

    /// The state afterwards, however it ends.
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

/// A function that is being called.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) parallel: usize,
}

/// The walk over one command line.
pub(super) struct Interpreter<'a> {
    pub(super) guard: &'a Guard,
    pub(super) scene: &'a GuardContext<'a>,
    /// The text that is being read; spans point into it.
    pub(super) text: String,
    pub(super) findings: Vec<Finding>,
    pub(super) commands: Vec<ParsedCommand>,
    /// Parts of the outermost text that an allow pattern covers.
    pub(super) allowed: Vec<Span>,
    /// Parts of it that an allow pattern would cover that a finding suggests.
    pub(super) excused: Vec<(Span, String)>,
    pub(super) calls: Vec<Call>,
    /// How many pipelines and background commands are around this one.
    pub(super) parallel: usize,
    pub(super) conditional: usize,
    pub(super) depth: usize,
    /// The shell that reads at this place.
    pub(super) dialect: Dialect,
    /// Strings that were read again around this one.
    pub(super) nested: usize,
    /// The simple command at hand, among the commands; none between them, and none in a text that is read again.
    pub(super) at_hand: Option<usize>,
    /// Whether an allow pattern covers the simple command at hand.
    pub(super) lifted: bool,
    /// Strings of other languages that were read as commands.
    pub(super) probes: usize,
    pub(super) seen: BTreeSet<(String, String, Remedy)>,
    spent: usize,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(guard: &'a Guard, scene: &'a GuardContext<'a>, text: &str) -> Self {
        Self {
            guard,
            scene,
            text: text.to_owned(),
            findings: Vec::new(),
            commands: Vec::new(),
            allowed: Vec::new(),
            excused: Vec::new(),
            calls: Vec::new(),
            parallel: 0,
            conditional: 0,
            depth: 0,
            dialect: scene.dialect,
            nested: 0,
            at_hand: None,
            lifted: false,
            probes: 0,
            seen: BTreeSet::new(),
            spent: 0,
        }
    }

    /// Takes a note of a reason against the line; the same reason counts once.
    pub(super) fn report(&mut self, finding: Finding) {
        if finding.kind == Kind::Danger && (self.lifted || !self.guard.denies()) {
            return;
        }
        if self.seen.insert((finding.rule.clone(), finding.words.clone(), finding.remedy.clone())) {
            self.findings.push(finding);
        }
    }

    /// Takes a note of something that cannot be followed.
    pub(super) fn not_understood(&mut self, what: &str, words: &str) {
        let words = super::partial_word::shown(words);
        self.report(Finding {
            kind: Kind::NotUnderstood,
            rule: "not-understood".to_owned(),
            why: format!("the guard cannot tell what this runs: {what}"),
            remedy: Remedy::Rewrite("write the command out, so that its text says what it does".to_owned()),
            words,
        });
    }

    /// One command or path more; `false` when the line comes down to too many.
    pub(super) fn spend(&mut self) -> bool {
        self.spent += 1;
        !self.is_spent()
    }

    /// The end of the walk: a line that was not followed to its end is not understood.
    pub(super) fn finish(&mut self) {
        if self.is_spent() {
            self.not_understood("the line comes down to too many commands and paths", "");
        }
    }

    fn is_spent(&self) -> bool {
        self.spent >= MOST_STEPS
    }

    /// Reads a text that a program hands to `/bin/sh`, which need not be the shell that runs the line.
    pub(super) fn reread_by_sh(&mut self, code: &PartialWord, state: &Rc<State>, input: &Input) -> Flow {
        self.reread_in(Dialect::Posix, code, state, input)
    }

    /// Reads a text as a script of the given dialect.
    pub(super) fn reread_in(
        &mut self,
        dialect: Dialect,
        code: &PartialWord,
        state: &Rc<State>,
        input: &Input,
    ) -> Flow {
        let outer = std::mem::replace(&mut self.dialect, dialect);
        let flow = self.reread(code, state, input);
        self.dialect = outer;
        flow
    }

    /// Reads a text that the shell at hand would run as a script of its own, in the state it is started with.
    pub(super) fn reread(&mut self, code: &PartialWord, state: &Rc<State>, input: &Input) -> Flow {
        let flow = Flow::either(state.clone());
        // A plain name in a gap is a word of the script, and never the name of a command.
        let readable = !code.as_str().contains([ANYTHING, DOWNLOADED, STAR, ONE, CLASS]);
        let Some(code) = Some(code.as_str()).filter(|_| readable) else {
            self.computed("unknown-code", "a string that is run as a command", code.as_str());
            return flow;
        };
        let script = match parse(code, self.dialect) {
            Ok(script) => script,
            Err(fault) => {
                self.not_understood(&fault.what, code);
                return flow;
            }
        };
        let outer = std::mem::replace(&mut self.text, code.to_owned());
        let lifted = std::mem::take(&mut self.lifted);
        let at_hand = self.at_hand.take();
        self.nested += 1;
        let flow = self.script(&script, state.clone(), input);
        self.nested -= 1;
        self.at_hand = at_hand;
        self.lifted = lifted;
        self.text = outer;
        flow
    }

    /// A whole list, from the state before it.
    pub(super) fn script(&mut self, script: &Script, state: Rc<State>, input: &Input) -> Flow {
        self.depth += 1;
        let flow = if self.depth > DEEPEST {
            self.not_understood(
                "the line is nested too deep",
                script.span.of(&self.text).to_owned().as_str(),
            );
            Flow::either(state)
        } else {
            let mut flow = Flow::ok(state);
            let mut printed = Vec::new();
            for statement in &script.statements {
                if self.is_spent() {
                    break;
                }
                // What follows an `exit` is judged all the same: better once too often.
                let Some(before) = both(flow.ok.take(), flow.fail.take()).or(flow.ended.take()) else {
                    break;
                };
                flow = self.statement(statement, before, input);
                printed.push(std::mem::take(&mut flow.output));
            }
            flow.output = sequence(&printed);
            flow
        };
        self.depth -= 1;
        flow
    }

    /// A list in a subshell: its variables are lost, its files stay. Gives what it prints.
    pub(super) fn subshell(&mut self, script: &Script, state: &mut Rc<State>, input: &Input) -> PartialWord {
        let flow = self.script(script, state.clone(), input);
        self.absorb(state, &flow);
        flow.output
    }

    pub(super) fn absorb(&mut self, outer: &mut Rc<State>, inner: &Flow) {
        for state in [&inner.ok, &inner.fail].into_iter().flatten() {
            if Rc::ptr_eq(outer, state) {
                continue;
            }
            if state.files != outer.files
                || state.links != outer.links
                || state.made != outer.made
                || state.shaken != outer.shaken
            {
                let outer = Rc::make_mut(outer);
                let files = state.files.iter().map(|(path, content)| (path.clone(), content.clone()));
                Rc::make_mut(&mut outer.files).extend(files);
                Rc::make_mut(&mut outer.links)
                    .extend(state.links.iter().map(|(at, to)| (at.clone(), to.clone())));
                Rc::make_mut(&mut outer.made).extend(state.made.iter().cloned());
                outer.shaken |= state.shaken;
            }
        }
    }

    fn statement(&mut self, statement: &Statement, mut state: Rc<State>, input: &Input) -> Flow {
        if statement.ending == Ending::Background {
            self.parallel += 1;
            let flow = self.chain(statement, state.clone(), &Input::Inherited);
            self.parallel -= 1;
            self.absorb(&mut state, &flow);
            return Flow::ok(state).printing(PartialWord::gap(ANYTHING));
        }
        self.chain(statement, state, input)
    }

    fn chain(&mut self, statement: &Statement, state: Rc<State>, input: &Input) -> Flow {
        if statement.rest.is_empty() {
            let mut flow = self.pipeline(&statement.first, state, input);
            if self.conditional == 0 && flow.ok.as_ref().is_some_and(|state| state.exits_on_error) {
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
            // A way that cannot be taken is still looked at: its commands are judged, its state is dropped.
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
        let mut flow = match (&pipeline.first, pipeline.rest.as_slice()) {
            (None, _) => Flow::either(state),
            (Some(only), []) => self.command(only, state, input),
            (Some(first), rest) => {
                self.parallel += 1;
                let mut last = self.command(first, state.clone(), input);
                self.absorb(&mut state, &last);
                for (_, command) in rest {
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
        if let CommandKind::Simple(simple) = &command.kind {
            return self.simple(simple, command, state, input);
        }
        if let CommandKind::Function(function) = &command.kind {
            let mut body = (*function.body).clone();
            body.redirections.extend(command.redirections.iter().cloned());
            Rc::make_mut(&mut Rc::make_mut(&mut state).functions)
                .insert(function.name.clone(), Rc::new(body.clone()));
            // The shell itself calls this one, whenever a command is not there.
            if function.name == "command_not_found_handle" {
                let mut inner = (*state).clone();
                inner.arguments = vec![PartialWord::gap(ANYTHING)];
                self.command(&body, Rc::new(inner), input);
            }
            return Flow::ok(state);
        }
        let redirected = self.redirections(&command.redirections, &mut state);
        let input = redirected.input.as_ref().unwrap_or(input);
        let mut flow = self.compound(&command.kind, state, input);
        self.written(&redirected.outputs, &flow.output.clone(), &mut flow);
        flow
    }
}

/// Everything that the commands of a list print, in order.
pub(super) fn sequence(printed: &[PartialWord]) -> PartialWord {
    let mut some = printed.iter().filter(|field| !field.as_str().is_empty());
    match (some.next(), some.next()) {
        (None, _) => PartialWord::default(),
        (Some(only), None) => only.clone(),
        _ => PartialWord::gap(ANYTHING),
    }
}
