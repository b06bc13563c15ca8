//! One command with its arguments: patterns of the configuration, functions, builtins, rules, wrappers, paths.
//!
//! Invariant: every command goes through [`Interpreter::invoke`], whoever runs it: the shell, or a wrapper.

use super::builtins::{Language, words};
use super::context::Confinement;
use super::finding::{Finding, Kind, Remedy};
use super::guard::ParsedCommand;
use super::interpreter::{Call, DEEPEST, Flow, Input, Interpreter};
use super::options::NamedCommand;
use super::partial_word::{PartialWord, is_marked, shown};
use super::state::State;
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::shell::ast::Command;
use crate::shell::span::Span;
use std::rc::Rc;

/// One command about to be judged: its words, and what they came with.
pub(super) struct Invocation<'g> {
    /// The arguments, the name first.
    pub(super) argv: &'g [PartialWord],
    /// What it reads.
    pub(super) input: &'g Input,
    /// Where it stands in the text; `None` when it was put together from arguments.
    pub(super) span: Option<Span>,
}

impl Interpreter<'_> {
    /// Judges one command, whoever runs it: the shell, or a wrapper.
    pub(super) fn invoke(&mut self, given: &Invocation<'_>, state: Rc<State>) -> Flow {
        if !self.spend() {
            return Flow::either(state);
        }
        let before = self.lifted;
        if self.guard.has_patterns() {
            self.patterns_on(given);
        }
        let at = self.commands.len();
        self.commands.push(ParsedCommand::new(given.argv, &state));
        let found = self.findings.len();
        let outer = self.at_hand.replace(at);
        self.depth += 1;
        let flow = if self.depth > DEEPEST {
            // A wrapper's command may be a wrapper: a line of nothing else would use up the stack.
            self.not_understood("commands run each other too deep", &words(given.argv));
            Flow::either(state)
        } else {
            self.dispatch(given, state)
        };
        self.depth -= 1;
        self.at_hand = outer;
        self.excuse(given, found);
        let rules = self.findings[found..].iter().map(|finding| finding.rule.clone()).collect();
        if let Some(understood) = self.commands.get_mut(at) {
            understood.rules = rules;
        }
        self.lifted = before;
        flow
    }

    /// Remembers which part of the text the patterns that were just suggested would take out of it.
    fn excuse(&mut self, given: &Invocation<'_>, found: usize) {
        let (0, Some(span)) = (self.nested, given.span) else { return };
        if found == self.findings.len() {
            return;
        }
        let normal = format!("^{}$", regex::escape(&shown(&words(given.argv))));
        let suggested = self.findings[found..]
            .iter()
            .any(|finding| matches!(&finding.remedy, Remedy::AllowPattern(pattern) if *pattern == normal));
        if suggested {
            self.excused.push((span, normal));
        }
    }

    /// Asks the configuration's own patterns about the command as it is written and as it is understood.
    fn patterns_on(&mut self, given: &Invocation<'_>) {
        let normal = words(given.argv);
        let normal = if is_marked(&normal) { shown(&normal) } else { normal };
        let source = given.span.map_or("", |span| span.of(&self.text));
        if self.guard.allows(&normal) || (!source.is_empty() && self.guard.allows(source.trim())) {
            self.lifted = true;
            if let (0, Some(span)) = (self.nested, given.span) {
                self.allowed.push(span);
            }
        }
        if let Some(pattern) = self.guard.custom_denied(&normal).map(str::to_owned) {
            self.custom(&pattern, &normal);
        }
    }

    fn dispatch(&mut self, given: &Invocation<'_>, state: Rc<State>) -> Flow {
        let [first, args @ ..] = given.argv else { return Flow::either(state) };
        let Some(name) = first.known() else {
            self.computed("unknown-command", "the name of the command", &words(given.argv));
            return Flow::either(state);
        };
        if name.contains("{}") {
            self.computed("unknown-command", "the name of the command", &words(given.argv));
            return Flow::either(state);
        }
        if name.is_empty() {
            return Flow::either(state).printing(PartialWord::default());
        }
        if let Some(body) = state.functions.get(name).cloned() {
            return self.call(name, args, &body, &state, given.input);
        }
        if let Some(code) = state.aliases.get(name).cloned() {
            let mut inner = (*state).clone();
            Rc::make_mut(&mut inner.aliases).remove(name);
            let mut argv: Vec<PartialWord> =
                code.split_whitespace().map(PartialWord::text).chain(args.iter().cloned()).collect();
            // Behind an alias that ends in a blank the next word may be one, too.
            let next = argv.len() - args.len();
            if code.ends_with([' ', '\t'])
                && let Some(more) = argv.get(next).and_then(|word| inner.aliases.get(word.as_str())).cloned()
            {
                argv.splice(next..=next, more.split_whitespace().map(PartialWord::text));
            }
            self.invoke(&Invocation { argv: &argv, input: given.input, span: None }, Rc::new(inner));
        }
        let base = match name.rsplit_once('/') {
            Some((_, base)) => {
                for place in self.program(name, &state) {
                    self.run_file(&place, Language::Shell(Dialect::Bash), &state, given);
                }
                base
            }
            None => name,
        };
        let invocation = NamedCommand { name: base, args, input: given.input };
        if let Some(flow) = self.builtin(&invocation, given, &state) {
            return flow;
        }
        self.families(&invocation, given.argv);
        if base == "git" {
            self.git(&invocation, given, &state);
        }
        self.programs(&invocation, given, &state);
        if let Some(unwrapped) = self.unwrap(&invocation, given, &state) {
            self.by_profile(&args[..unwrapped.own.min(args.len())], super::arg_profile::of(base), &state);
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
    fn call(
        &mut self,
        name: &str,
        args: &[PartialWord],
        body: &Command,
        state: &Rc<State>,
        input: &Input,
    ) -> Flow {
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

    /// Takes a note of a command, or of code, that is only known when it runs. Where the deny rules are off it is no
    /// danger by itself, but it can go anywhere: then a cage has to confinement it.
    pub(super) fn computed(&mut self, rule: &str, what: &str, words: &str) {
        let denied = self.guard.denies();
        let held = self.scene.reach != Reach::Workspace || self.scene.confinement == Confinement::Cage;
        if !denied && held {
            return;
        }
        let plain = Remedy::Rewrite("write out what is to be run".to_owned());
        self.report(Finding {
            kind: if denied { Kind::NotUnderstood } else { Kind::PathOutside },
            rule: rule.to_owned(),
            why: format!("{what} is only known when it runs"),
            words: super::partial_word::shown(words),
            remedy: if denied { plain } else { Remedy::Cage },
        });
    }

    /// Takes a note of a dangerous command.
    pub(super) fn deny(&mut self, rule: &str, why: &str, words: &str) {
        // The words may be a part of the command; a pattern has to cover all of it.
        let command = self.at_hand.and_then(|at| self.commands.get(at)).map(|command| command.argv.join(" "));
        let remedy = match command {
            Some(command) => Remedy::AllowPattern(format!("^{}$", regex::escape(&command))),
            None => Remedy::DenyRules,
        };
        self.report(Finding {
            kind: Kind::Danger,
            rule: rule.to_owned(),
            why: why.to_owned(),
            words: shown(words),
            remedy,
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
