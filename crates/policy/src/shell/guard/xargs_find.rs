//! Commands that run a command for every item of a list: xargs, find, fd, parallel.
//!
//! A known item is judged as an argument; an unknown one is never accepted as a command's name.

use super::arguments;
use super::builtins::join_words;
use super::interpreter::{Flow, Input, Interpreter};
use super::interpreters::runs_code;
use super::options::{Grammar, Item, NamedCommand, Order, is_abbreviation, parse};
use super::partial_word::{ANYTHING, INSIDE, PartialWord};
use super::programs;
use super::state::State;
use super::wrappers::UnwrappedCommand;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(super) fn xargs(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> UnwrappedCommand {
        let grammar = Grammar::leading(
            "I E d L n P s a J R arg-file delimiter max-args max-procs max-chars process-slot-var",
        );
        let (items, own) = parse(call.args, grammar);
        let marker = items.iter().find_map(|item| match item {
            Item::Short('I' | 'J', value) => *value,
            Item::Short('i', _) => Some("{}"),
            Item::Long(name, value) if is_abbreviation(name, "replace") => Some(value.unwrap_or("{}")),
            _ => None,
        });
        let Some(template) = call.args.get(own..).filter(|rest| !rest.is_empty()) else {
            return UnwrappedCommand { own, flow: Flow::either(state.clone()) };
        };
        let read = match call.input {
            Input::Piped(field) | Input::Text(field) => field.known().map(str::to_owned),
            _ => None,
        };
        let values: Vec<PartialWord> = match read {
            Some(text) if !text.contains(['\'', '"', '\\', '\0']) && items.iter().all(is_plain) => {
                text.split_whitespace().take(64).map(PartialWord::text).collect()
            }
            _ => match call.input {
                Input::Piped(field) if field.as_str() == INSIDE.to_string() => vec![field.clone()],
                // Names that another command prints, or that a file holds.
                _ => vec![PartialWord::gap(ANYTHING)],
            },
        };
        let code = template.first().is_some_and(|name| template.len() == 1 && runs_code(name.as_str()));
        if code && values.iter().any(PartialWord::is_open) {
            let why = "an interpreter whose options and script are read from a list";
            self.report_danger("pipe-to-interpreter", why, &call.words());
        }
        let lists: Vec<Vec<PartialWord>> = match marker {
            Some(marker) => {
                let fill = |value: &PartialWord| {
                    let filled =
                        |word: &PartialWord| PartialWord::text(word.as_str().replace(marker, value.as_str()));
                    template.iter().map(filled).collect()
                };
                values.iter().map(fill).collect()
            }
            None => vec![template.iter().cloned().chain(values).collect()],
        };
        let mut flow = Flow::either(state.clone());
        for argv in &lists {
            self.judge_bulk_deletion(argv);
            flow = self.run_words(argv, &Input::Inherited, state);
        }
        UnwrappedCommand { own, flow: self.keep_process_effects(state, flow) }
    }

    /// `find -exec`: each command, with a found file for `{}`.
    pub(super) fn find(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<UnwrappedCommand> {
        let mut args = call.args.iter();
        let mut flow = None;
        while let Some(arg) = args.next() {
            if !matches!(arg.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let found = INSIDE.to_string();
            // Inside a string for a shell the mark stays a name, which must not be a command's.
            let filled = |word: &PartialWord| match word.as_str().contains(char::is_whitespace) {
                true => word.clone(),
                false => PartialWord::text(word.as_str().replace("{}", &found)),
            };
            let argv: Vec<PartialWord> = exec_words(arg.as_str(), &mut args).iter().map(filled).collect();
            self.judge_bulk_deletion(&argv);
            let inner = self.run_words(&argv, call.input, state);
            flow = Some(self.keep_process_effects(state, inner));
        }
        let flow = flow?;
        self.judge_operands(call, state);
        Some(UnwrappedCommand { own: 0, flow })
    }

    pub(super) fn fd(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<UnwrappedCommand> {
        let is_exec = |arg: &PartialWord| matches!(arg.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
        let own = call.args.iter().position(is_exec)?;
        let found = INSIDE.to_string();
        let mut flow = Flow::either(state.clone());
        // Options follow a command that `;` ends, and may give the next command.
        for part in call.args[own..].split(|word| word.as_str() == ";") {
            let Some(at) = part.iter().position(is_exec) else { continue };
            let words = part[at + 1..].iter();
            let mut argv: Vec<PartialWord> =
                words.map(|word| PartialWord::text(word.as_str().replace("{}", &found))).collect();
            argv.push(PartialWord::gap(INSIDE));
            self.judge_bulk_deletion(&argv);
            let inner = self.run_words(&argv, call.input, state);
            flow = self.keep_process_effects(state, inner);
        }
        Some(UnwrappedCommand { own, flow })
    }

    /// `rm` over a list of files is bulk deletion, whatever its options.
    fn judge_bulk_deletion(&mut self, argv: &[PartialWord]) {
        let base = |word: &PartialWord| word.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        let mut rest = argv;
        // What a wrapper runs: its own words come first.
        while let Some(program) = rest.first().and_then(|name| programs::find(&base(name)))
            && let Some(own) = program.wraps
        {
            rest = rest[1..]
                .get(arguments::parse(&rest[1..], program, Order::First).1 + own..)
                .unwrap_or_default();
            rest = &rest[rest.iter().take_while(|word| word.as_str().contains('=')).count()..];
        }
        let name = rest.first().map(base);
        let name = name.as_deref();
        if matches!(name, Some("rm" | "unlink" | "shred")) {
            self.report_danger("bulk-deletion", "deletes every file of a list", &join_words(argv));
        }
    }

    pub(super) fn parallel_jobs(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> UnwrappedCommand {
        let grammar = Grammar::leading("j P a S N n I L d X C jobs joblog results colsep");
        let own = parse(call.args, grammar).1;
        let rest = &call.args[own..];
        let end = rest.iter().position(|arg| arg.as_str().starts_with(":::")).unwrap_or(rest.len());
        let listed = rest.get(end).is_some_and(|arg| arg.as_str().starts_with("::::"));
        let (template, values) = (&rest[..end], rest.get(end + 1..).filter(|_| !listed).unwrap_or_default());
        if template.is_empty() {
            if values.is_empty() {
                self.report_danger(
                    "pipe-to-interpreter",
                    "runs every line it reads as a command",
                    &call.words(),
                );
            }
            for value in values {
                self.interpret_string(value, state, &Input::Inherited);
            }
            return UnwrappedCommand { own, flow: Flow::either(state.clone()) };
        }
        let code = join_words(template);
        let gap = [PartialWord::gap(ANYTHING)];
        let mut flow = Flow::either(state.clone());
        for value in if values.is_empty() { &gap } else { values } {
            let line = if code.contains("{}") {
                code.replace("{}", value.as_str())
            } else {
                format!("{code} {}", value.as_str())
            };
            let argv: Vec<PartialWord> = line.split(' ').map(PartialWord::text).collect();
            self.judge_bulk_deletion(&argv);
            flow = match PartialWord::text(line.as_str()).known() {
                Some(line) => self.interpret_string(&PartialWord::text(line), state, &Input::Inherited),
                None => self.run_words(&argv, &Input::Inherited, state),
            };
        }
        UnwrappedCommand { own, flow: self.keep_process_effects(state, flow) }
    }
}

/// The words of a command of `find`: up to `;`, or to a `+` directly after `{}`, which only `-exec`
/// and `-execdir` have.
pub(super) fn exec_words<'a>(
    action: &str,
    args: &mut std::slice::Iter<'a, PartialWord>,
) -> &'a [PartialWord] {
    let all = args.as_slice();
    let ends = |at: &usize| match all[*at].as_str() {
        ";" => true,
        "+" => action.starts_with("-exec") && *at > 0 && all[at - 1].as_str() == "{}",
        _ => false,
    };
    let end = (0..all.len()).find(ends).unwrap_or(all.len());
    *args = all[(end + 1).min(all.len())..].iter();
    &all[..end]
}

/// Options of xargs that leave its items as they are.
fn is_plain(item: &Item<'_>) -> bool {
    match item {
        Item::Short(letter, _) => "IinLPprtxs".contains(*letter),
        Item::Long(name, _) => {
            ["replace", "max-args", "max-procs", "no-run-if-empty", "verbose"].contains(name)
        }
        Item::Operand(_) => true,
        Item::Unknown => false,
    }
}
