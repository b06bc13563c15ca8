//! Compound commands: conditions, loops, `case`, tests.
//!
//! Both outcomes of a condition are judged, and a loop is iterated to a fixed point.

use super::arithmetic::holds_code;
use super::interpreter::{Flow, Input, Interpreter, both};
use super::partial_word::{ANYTHING, PartialWord};
use super::redirect::single_value;
use super::state::{ShellDir, State, Variable, dedup_values, join};
use crate::shell::ast::{Case, CommandKind, Ending, For, If, Loop, Script, Statement, TestItem};
use crate::shell::word::Word;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn compound(&mut self, kind: &CommandKind, mut state: Rc<State>, input: &Input) -> Flow {
        match kind {
            CommandKind::Subshell(script) => {
                let output = self.subshell(script, &mut state, input);
                Flow::either(state).printing(output)
            }
            CommandKind::Group(script) => self.script(script, state, input),
            CommandKind::If(choice) => self.if_command(choice, state, input),
            CommandKind::Loop(turn) => self.loop_command(turn, state, input),
            CommandKind::For(turn) => self.for_command(turn, state, input),
            CommandKind::ArithmeticFor(turn) => {
                let header = turn.header.span.of(&self.text);
                let endless = header.split(';').nth(1).is_some_and(|condition| condition.trim().is_empty());
                self.judge_endless(endless, &turn.body);
                self.arithmetic(&turn.header, &mut state);
                self.iterate_to_fixpoint(state, |interpreter, state| {
                    interpreter.script(&turn.body, state, input)
                })
            }
            CommandKind::Case(case) => self.case(case, state, input),
            CommandKind::Test(items) => {
                self.test(items, &mut state);
                Flow::either(state).printing(PartialWord::default())
            }
            CommandKind::Arithmetic(arithmetic) => {
                self.arithmetic(arithmetic, &mut state);
                Flow::either(state).printing(PartialWord::default())
            }
            CommandKind::Coprocess(command) => {
                self.parallel += 1;
                let flow = self.command(command, state.clone(), &Input::Piped(PartialWord::gap(ANYTHING)));
                self.parallel -= 1;
                self.absorb(&mut state, &flow);
                Flow::either(state)
            }
            CommandKind::Simple(_) | CommandKind::Function(_) => Flow::either(state),
        }
    }

    fn if_command(&mut self, choice: &If, state: Rc<State>, input: &Input) -> Flow {
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
        Flow { ok, fail, ended: None, output: alternatives(&printed) }
    }

    fn loop_command(&mut self, turn: &Loop, state: Rc<State>, input: &Input) -> Flow {
        let endless = matches!(turn.condition.statements.as_slice(), [only] if is_endless(only));
        self.judge_endless(endless, &turn.body);
        self.iterate_to_fixpoint(state, |interpreter, state| {
            interpreter.conditional += 1;
            let asked = interpreter.script(&turn.condition, state.clone(), input);
            interpreter.conditional -= 1;
            let start = both(asked.ok, asked.fail).unwrap_or(state);
            interpreter.script(&turn.body, start, input)
        })
    }

    fn judge_endless(&mut self, endless: bool, body: &Script) {
        if endless && starts_in_background(body) && !waits(body) {
            let words = body.span.of(&self.text).to_owned();
            self.report_danger("fork-bomb", "an endless loop that starts children in the background", &words);
        }
    }

    fn for_command(&mut self, turn: &For, mut state: Rc<State>, input: &Input) -> Flow {
        let values: Vec<PartialWord> = match &turn.words {
            None => state.arguments.clone(),
            Some(words) => {
                let mut all = Vec::new();
                for word in words {
                    all.extend(self.expand_word(word, &mut state).into_iter().flatten());
                }
                all
            }
        };
        values.iter().for_each(|field| self.judge_glob_dirs(field, &state));
        self.has_quoted_code |= values.iter().any(holds_code);
        if state.integers {
            self.judge_integer(&Variable::Array(values.clone()), &mut state);
        }
        let values = dedup_values(values);
        if values.is_empty() {
            return Flow::either(state);
        }
        self.iterate_to_fixpoint(state, |interpreter, mut state| {
            Rc::make_mut(&mut state).set(&turn.name, values.clone());
            interpreter.judge_set(&turn.name, &state);
            interpreter.script(&turn.body, state, input)
        })
    }

    /// Iterates the body to a fixed point; what still changes then becomes unknown.
    fn iterate_to_fixpoint(
        &mut self,
        start: Rc<State>,
        mut turn: impl FnMut(&mut Self, Rc<State>) -> Flow,
    ) -> Flow {
        if self.is_spent() {
            return Flow::either(start);
        }
        let mut turn = |interpreter: &mut Self, state: Rc<State>| {
            let mut flow = turn(interpreter, state);
            flow.ok = both(flow.ok, interpreter.escaped.take());
            flow
        };
        let once = turn(self, start.clone());
        let Some(after) = once.after() else { return Flow::either(start) };
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
        for (name, value) in Rc::make_mut(&mut wide.variables) {
            if first.variables.get(name) != Some(value) {
                *value = Variable::unknown();
            }
        }
        if wide.cwd != first.cwd {
            wide.cwd = Rc::new(vec![ShellDir::Unknown]);
        }
        let wide = Rc::new(wide);
        match turn(self, wide.clone()).after() {
            Some(after) => Flow::either(join(wide, after)),
            None => Flow::either(wide),
        }
    }

    fn case(&mut self, case: &Case, mut state: Rc<State>, input: &Input) -> Flow {
        self.expand_scalar(&case.subject, &mut state);
        let mut result = Flow::either(state.clone());
        let mut printed = vec![PartialWord::default()];
        for arm in &case.arms {
            for pattern in &arm.patterns {
                self.expand_scalar(pattern, &mut state);
            }
            let start = both(result.ok.clone(), result.fail.clone()).unwrap_or_else(|| state.clone());
            let flow = self.script(&arm.body, start, input);
            result.ok = both(result.ok, flow.ok);
            result.fail = both(result.fail, flow.fail);
            printed.push(flow.output);
        }
        result.printing(alternatives(&printed))
    }

    /// `[[ … ]]`: file tests name files, the rest is text.
    fn test(&mut self, items: &[TestItem], state: &mut Rc<State>) {
        let mut words: Vec<PartialWord> = Vec::new();
        for item in items {
            match item {
                TestItem::Operator(operator, _) => words.push(PartialWord::text(operator.as_str())),
                TestItem::Operand(word) => {
                    words.push(single_value(self.expand_scalar(word, state)));
                }
            }
        }
        self.file_tests(&words, state);
    }
}

fn alternatives(printed: &[PartialWord]) -> PartialWord {
    match printed {
        [first, rest @ ..] if rest.iter().all(|field| field == first) => first.clone(),
        [] => PartialWord::default(),
        _ => PartialWord::gap(ANYTHING),
    }
}

fn is_same(a: &State, b: &State) -> bool {
    a.variables == b.variables
        && a.cwd == b.cwd
        && a.files == b.files
        && a.links == b.links
        && a.arguments == b.arguments
        && a.namerefs == b.namerefs
        && a.moved == b.moved
        && a.functions.len() == b.functions.len()
}

/// A condition that never changes: `true`, `! false`, `echo`, `((1))`.
fn is_endless(statement: &Statement) -> bool {
    let ([], [command]) = (statement.rest.as_slice(), statement.first.commands.as_slice()) else {
        return false;
    };
    match &command.kind {
        CommandKind::Simple(simple) => match simple.words.as_slice() {
            [name, ..] if matches!(name.literal().as_deref(), Some("true" | ":" | "false" | "echo")) => true,
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
            || statement.first.commands.iter().any(|command| match &command.kind {
                CommandKind::Subshell(inner) | CommandKind::Group(inner) => starts_in_background(inner),
                _ => false,
            })
    })
}

/// Whether an iteration waits for anything: `sleep`, `wait`, `read`.
fn waits(script: &Script) -> bool {
    script.statements.iter().any(|statement| {
        statement.ending == Ending::Foreground
            && statement.first.commands.iter().any(|command| match &command.kind {
                CommandKind::Simple(simple) => simple
                    .words
                    .first()
                    .and_then(Word::literal)
                    .is_some_and(|name| matches!(&*name, "sleep" | "wait" | "read")),
                _ => false,
            })
    })
}
