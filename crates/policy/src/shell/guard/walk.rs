//! Follows a script as a shell would, without running anything, and hands every simple command to the rules.
//!
//! Both ways of a condition are followed, loops until nothing new happens; a subshell's variables stay in it, the
//! files it makes do not.
//!
//! Invariant: every command that the script can run is judged at least once, under every state it can run in.

use super::field::{ANYTHING, Field};
use super::finding::{Finding, Kind, Remedy};
use super::judge::{Guard, Understood};
use super::scene::Scene;
use super::state::{Place, State, Variable, join};
use crate::path::CleanPath;
use crate::shell::span::Span;
use crate::shell::tree::{
    Case, Command, CommandKind, Connector, Ending, For, If, Loop, Pipeline, Script, Statement, TestItem,
};
use crate::shell::{Dialect, read};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Lists inside lists, strings inside strings, calls inside calls: deeper than this is refused.
const DEEPEST: usize = 96;
/// Simple commands that one line may come down to.
const MOST_COMMANDS: usize = 6_000;

/// What a command reads.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// Whatever the shell itself reads.
    Inherited,
    /// The output of another command.
    Piped(Field),
    /// A here-document or here-string.
    Text(Field),
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
    /// What it prints.
    pub(super) output: Field,
}

impl Flow {
    /// Success or failure, nothing remembered.
    pub(super) fn either(state: Rc<State>) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state), output: Field::gap(ANYTHING) }
    }

    pub(super) fn printing(mut self, output: Field) -> Self {
        self.output = output;
        self
    }

    fn after(&self) -> Option<Rc<State>> {
        both(self.ok.clone(), self.fail.clone())
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
pub(super) struct Walker<'a> {
    pub(super) guard: &'a Guard,
    pub(super) scene: &'a Scene<'a>,
    /// The text that is being read; spans point into it.
    pub(super) text: String,
    pub(super) findings: Vec<Finding>,
    pub(super) commands: Vec<Understood>,
    /// Parts of the outermost text that an allow pattern covers.
    pub(super) allowed: Vec<Span>,
    pub(super) calls: Vec<Call>,
    /// How many pipelines and background commands are around this one.
    pub(super) parallel: usize,
    pub(super) conditional: usize,
    pub(super) depth: usize,
    /// Strings that were read again around this one.
    pub(super) nested: usize,
    /// Whether an allow pattern covers the simple command at hand.
    pub(super) lifted: bool,
    pub(super) seen: BTreeSet<(String, String)>,
    spent: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(guard: &'a Guard, scene: &'a Scene<'a>, text: &str) -> Self {
        Self {
            guard,
            scene,
            text: text.to_owned(),
            findings: Vec::new(),
            commands: Vec::new(),
            allowed: Vec::new(),
            calls: Vec::new(),
            parallel: 0,
            conditional: 0,
            depth: 0,
            nested: 0,
            lifted: false,
            seen: BTreeSet::new(),
            spent: 0,
        }
    }

    /// Takes a note of a reason against the line; the same reason counts once.
    pub(super) fn report(&mut self, finding: Finding) {
        if finding.kind == Kind::Danger && (self.lifted || !self.guard.denies()) {
            return;
        }
        if self.seen.insert((finding.rule.clone(), finding.words.clone())) {
            self.findings.push(finding);
        }
    }

    /// Takes a note of something that cannot be followed.
    pub(super) fn not_understood(&mut self, what: &str, words: &str) {
        let words = super::field::shown(words);
        self.report(Finding {
            kind: Kind::NotUnderstood,
            rule: "not-understood".to_owned(),
            why: format!("the guard cannot tell what this runs: {what}"),
            remedy: Remedy::Rewrite("write the command out, so that its text says what it does".to_owned()),
            words,
        });
    }

    /// One simple command more; `false` when the line comes down to too many.
    pub(super) fn spend(&mut self) -> bool {
        self.spent += 1;
        if self.spent == MOST_COMMANDS {
            self.not_understood("the line comes down to too many commands", "");
        }
        self.spent < MOST_COMMANDS
    }

    /// Reads a text that a command would run as a script of its own, in the state it is started with.
    pub(super) fn reread(&mut self, code: &Field, state: &Rc<State>, input: &Input) -> Flow {
        let flow = Flow::either(state.clone());
        let Some(code) = code.known() else {
            self.not_understood("a string that is run as a command", code.as_str());
            return flow;
        };
        let script = match read(code, Dialect::Bash) {
            Ok(script) => script,
            Err(fault) => {
                self.not_understood(&fault.what, code);
                return flow;
            }
        };
        let outer = std::mem::replace(&mut self.text, code.to_owned());
        let lifted = std::mem::take(&mut self.lifted);
        self.nested += 1;
        let flow = self.script(&script, state.clone(), input);
        self.nested -= 1;
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
            let mut flow = Flow { ok: Some(state), fail: None, output: Field::default() };
            let mut printed = Vec::new();
            for statement in &script.statements {
                // What follows an `exit` is judged all the same: better once too often.
                let before = flow.after().unwrap_or_else(|| Rc::new(State::new(self.scene.cwd)));
                let next = self.statement(statement, before.clone(), input);
                printed.push(next.output.clone());
                flow = match (&next.ok, &next.fail) {
                    (None, None) => Flow { ok: Some(before), fail: None, output: next.output },
                    _ => next,
                };
            }
            flow.output = if printed.len() > 1 { sequence(&printed) } else { flow.output };
            flow
        };
        self.depth -= 1;
        flow
    }

    /// A list in a subshell: its variables are lost, its files stay. Gives what it prints.
    pub(super) fn subshell(&mut self, script: &Script, state: &mut Rc<State>, input: &Input) -> Field {
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
                outer.files.extend(state.files.iter().map(|(path, content)| (path.clone(), content.clone())));
                outer.links.extend(state.links.iter().map(|(at, to)| (at.clone(), to.clone())));
                outer.made.extend(state.made.iter().cloned());
                outer.made.dedup();
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
            return Flow { ok: Some(state), fail: None, output: Field::gap(ANYTHING) };
        }
        self.chain(statement, state, input)
    }

    fn chain(&mut self, statement: &Statement, state: Rc<State>, input: &Input) -> Flow {
        self.conditional += usize::from(!statement.rest.is_empty());
        let mut flow = self.pipeline(&statement.first, state.clone(), input);
        self.conditional -= usize::from(!statement.rest.is_empty());
        for (connector, pipeline) in &statement.rest {
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
            flow = match connector {
                Connector::And => Flow { ok, fail: both(other, fail), output },
                Connector::Or => Flow { ok: both(other, ok), fail, output },
            };
        }
        if flow.ok.as_ref().is_some_and(|state| state.exits_on_error)
            && self.conditional == 0
            && statement.rest.is_empty()
        {
            flow.fail = None;
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
            let routine = super::state::Routine { body: Rc::new(body) };
            Rc::make_mut(&mut state).functions.insert(function.name.clone(), routine);
            return Flow { ok: Some(state), fail: None, output: Field::default() };
        }
        let redirected = self.redirections(&command.redirections, &mut state);
        let input = redirected.input.as_ref().unwrap_or(input);
        let mut flow = self.compound(&command.kind, state, input);
        self.written(&redirected.outputs, &flow.output.clone(), &mut flow);
        flow
    }

    fn compound(&mut self, kind: &CommandKind, mut state: Rc<State>, input: &Input) -> Flow {
        match kind {
            CommandKind::Subshell(script) => {
                let output = self.subshell(script, &mut state, input);
                Flow::either(state).printing(output)
            }
            CommandKind::Group(script) => self.script(script, state, input),
            CommandKind::If(choice) => self.choice(choice, state, input),
            CommandKind::Loop(turn) => self.turns(turn, state, input),
            CommandKind::For(turn) => self.each(turn, state, input),
            CommandKind::ArithmeticFor(turn) => {
                let header = turn.header.span.of(&self.text);
                let endless = header.split(';').nth(1).is_some_and(|condition| condition.trim().is_empty());
                if endless && starts_in_background(&turn.body) && !waits(&turn.body) {
                    self.danger(
                        "fork-bomb",
                        "an endless loop that starts children in the background",
                        turn.body.span,
                    );
                }
                self.arithmetic(&turn.header, &mut state);
                self.until_stable(state, |walker, state| walker.script(&turn.body, state, input))
            }
            CommandKind::Case(case) => self.case(case, state, input),
            CommandKind::Test(items) => {
                self.test(items, &mut state);
                Flow::either(state).printing(Field::default())
            }
            CommandKind::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic, &mut state);
                Flow::either(state).printing(Field::default())
            }
            CommandKind::Coprocess(coprocess) => {
                self.parallel += 1;
                let flow =
                    self.command(&coprocess.command, state.clone(), &Input::Piped(Field::gap(ANYTHING)));
                self.parallel -= 1;
                self.absorb(&mut state, &flow);
                Flow::either(state)
            }
            CommandKind::Simple(_) | CommandKind::Function(_) => Flow::either(state),
        }
    }

    fn choice(&mut self, choice: &If, state: Rc<State>, input: &Input) -> Flow {
        let mut otherwise = Some(state.clone());
        let (mut ok, mut fail) = (None, None);
        let mut printed = Vec::new();
        for (condition, body) in &choice.arms {
            let start = otherwise.clone().unwrap_or_else(|| state.clone());
            self.conditional += 1;
            let asked = self.script(condition, start.clone(), input);
            self.conditional -= 1;
            let flow = self.script(body, asked.ok.unwrap_or(start), input);
            ok = both(ok, flow.ok);
            fail = both(fail, flow.fail);
            printed.push(flow.output);
            otherwise = asked.fail;
        }
        match (&choice.otherwise, otherwise) {
            (Some(script), start) => {
                let flow = self.script(script, start.unwrap_or(state), input);
                ok = both(ok, flow.ok);
                fail = both(fail, flow.fail);
                printed.push(flow.output);
            }
            (None, start) => ok = both(ok, start),
        }
        Flow { ok, fail, output: alternatives(&printed) }
    }

    fn turns(&mut self, turn: &Loop, state: Rc<State>, input: &Input) -> Flow {
        let endless = matches!(turn.condition.statements.as_slice(), [only] if is_endless(only));
        if endless && starts_in_background(&turn.body) && !waits(&turn.body) {
            self.danger(
                "fork-bomb",
                "an endless loop that starts children in the background",
                turn.body.span,
            );
        }
        self.until_stable(state, |walker, state| {
            walker.conditional += 1;
            let asked = walker.script(&turn.condition, state.clone(), input);
            walker.conditional -= 1;
            let start = both(asked.ok, asked.fail).unwrap_or(state);
            walker.script(&turn.body, start, input)
        })
    }

    fn each(&mut self, turn: &For, mut state: Rc<State>, input: &Input) -> Flow {
        let values: Vec<Field> = match &turn.words {
            None => state.arguments.clone(),
            Some(words) => {
                let mut all = Vec::new();
                for word in words {
                    all.extend(self.fields(word, &mut state).into_iter().flatten());
                }
                all
            }
        };
        values.iter().for_each(|field| self.listed(field, &state));
        let values = super::state::capped(values);
        if values.is_empty() {
            return Flow::either(state);
        }
        self.until_stable(state, |walker, mut state| {
            Rc::make_mut(&mut state).set(&turn.name, values.clone());
            walker.script(&turn.body, state, input)
        })
    }

    /// Runs the body until another turn changes nothing; what still changes then is "anything".
    fn until_stable(&mut self, start: Rc<State>, mut turn: impl FnMut(&mut Self, Rc<State>) -> Flow) -> Flow {
        let once = turn(self, start.clone());
        let Some(after) = once.after() else { return Flow::either(start).printing(once.output) };
        if is_same(&after, &start) {
            return Flow::either(join(start, after));
        }
        let first = join(start.clone(), after);
        let second = match turn(self, first.clone()).after() {
            Some(after) => join(first.clone(), after),
            None => first.clone(),
        };
        if is_same(&first, &second) {
            return Flow::either(second);
        }
        let mut wide = Rc::unwrap_or_clone(second);
        for (name, value) in &mut wide.variables {
            if first.variables.get(name) != Some(value) {
                *value = Variable::Scalar(vec![Field::gap(ANYTHING)]);
            }
        }
        if wide.cwd != first.cwd {
            wide.cwd = vec![Place::Unknown];
        }
        let wide = Rc::new(wide);
        match turn(self, wide.clone()).after() {
            Some(after) => Flow::either(join(wide, after)),
            None => Flow::either(wide),
        }
    }

    fn case(&mut self, case: &Case, mut state: Rc<State>, input: &Input) -> Flow {
        self.scalar(&case.subject, &mut state);
        let mut result = Flow::either(state.clone());
        let mut printed = vec![Field::default()];
        for arm in &case.arms {
            for pattern in &arm.patterns {
                self.scalar(pattern, &mut state);
            }
            let start = result.after().unwrap_or_else(|| state.clone());
            let flow = self.script(&arm.body, start, input);
            result.ok = both(result.ok, flow.ok);
            result.fail = both(result.fail, flow.fail);
            printed.push(flow.output);
        }
        result.printing(alternatives(&printed))
    }

    /// `[[ … ]]`: file tests name files, the rest is text.
    fn test(&mut self, items: &[TestItem], state: &mut Rc<State>) {
        let mut words: Vec<Field> = Vec::new();
        for item in items {
            match item {
                TestItem::Operator(operator, _) => words.push(Field::text(operator.as_str())),
                TestItem::Operand(word) => {
                    let mut values = self.scalar(word, state);
                    words.push(if values.len() == 1 { values.remove(0) } else { Field::gap(ANYTHING) });
                }
            }
        }
        self.file_tests(&words, state);
    }
}

/// Everything that the commands of a list print, in order.
fn sequence(printed: &[Field]) -> Field {
    let mut some = printed.iter().filter(|field| !field.as_str().is_empty());
    match (some.next(), some.next()) {
        (None, _) => Field::default(),
        (Some(only), None) => only.clone(),
        _ => Field::gap(ANYTHING),
    }
}

fn alternatives(printed: &[Field]) -> Field {
    match printed {
        [first, rest @ ..] if rest.iter().all(|field| field == first) => first.clone(),
        [] => Field::default(),
        _ => Field::gap(ANYTHING),
    }
}

fn is_same(a: &State, b: &State) -> bool {
    a.variables == b.variables
        && a.cwd == b.cwd
        && a.files == b.files
        && a.links == b.links
        && a.arguments == b.arguments
}

/// `true`, `:`, `((1))` as the whole condition.
fn is_endless(statement: &Statement) -> bool {
    let Some(command) = &statement.first.first else { return false };
    if !statement.rest.is_empty() || !statement.first.rest.is_empty() {
        return false;
    }
    match &command.kind {
        CommandKind::Simple(simple) => match simple.words.as_slice() {
            [name] => matches!(name.literal().as_deref(), Some("true" | ":")),
            [bracket, value, _] => {
                bracket.literal().as_deref() == Some("[") && matches!(value.literal().as_deref(), Some("1"))
            }
            _ => false,
        },
        CommandKind::Arithmetic(_) | CommandKind::Test(_) => true,
        _ => false,
    }
}

fn starts_in_background(script: &Script) -> bool {
    script.statements.iter().any(|statement| {
        statement.ending == Ending::Background
            || statement.first.commands().any(|command| match &command.kind {
                CommandKind::Subshell(inner) | CommandKind::Group(inner) => starts_in_background(inner),
                _ => false,
            })
    })
}

/// Whether a turn waits for anything: `sleep`, `wait`, `read`.
fn waits(script: &Script) -> bool {
    script.statements.iter().any(|statement| {
        statement.ending == Ending::Foreground
            && statement.first.commands().any(|command| match &command.kind {
                CommandKind::Simple(simple) => simple
                    .words
                    .first()
                    .and_then(crate::shell::word::Word::literal)
                    .is_some_and(|name| matches!(name.as_str(), "sleep" | "wait" | "read")),
                _ => false,
            })
    })
}
