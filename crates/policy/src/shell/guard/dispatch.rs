//! One command with its arguments: configured patterns, functions, builtins, rules, wrappers,
//! paths.
//!
//! Every command goes through [`Interpreter::invoke`], whether the shell or a wrapper runs it.

use super::builtins::{Language, join_words};
use super::context::Confinement;
use super::finding::{Finding, Kind, Remedy};
use super::guard::ParsedCommand;
use super::interpreter::{Call, Flow, Input, Interpreter, MAX_NESTING};
use super::options::NamedCommand;
use super::partial_word::{PartialWord, is_marked, render_marks};
use super::state::State;
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::shell::ast::Command;
use crate::shell::span::Span;
use std::rc::Rc;

/// One command to judge.
pub(super) struct Invocation<'g> {
    /// The arguments, with the name first.
    pub(super) argv: &'g [PartialWord],
    /// Its standard input.
    pub(super) input: &'g Input,
    /// Its location; `None` if it was assembled from arguments.
    pub(super) span: Option<Span>,
}

impl Interpreter<'_> {
    /// Judges one command that the shell or a wrapper runs.
    pub(super) fn invoke(&mut self, invocation: &Invocation<'_>, state: Rc<State>) -> Flow {
        if !self.count_step() {
            return Flow::either(state);
        }
        let before = self.lifted;
        if self.guard.has_patterns() {
            self.match_custom_patterns(invocation);
        }
        let at = self.commands.len();
        self.commands.push(ParsedCommand::from_argv(invocation.argv, &state));
        let found = self.findings.len();
        let outer = self.current.replace(at);
        self.depth += 1;
        let flow = if self.depth > MAX_NESTING {
            // A wrapper's command may be a wrapper: a line of wrappers only would exhaust the
            // stack.
            self.report_not_understood("commands run each other too deep", &join_words(invocation.argv));
            Flow::either(state)
        } else {
            self.dispatch(invocation, state)
        };
        self.depth -= 1;
        self.current = outer;
        self.record_suggestion(invocation, found);
        let rules = self.findings[found..].iter().map(|finding| finding.rule.clone()).collect();
        if let Some(understood) = self.commands.get_mut(at) {
            understood.rules = rules;
        }
        self.lifted = before;
        flow
    }

    /// Records which part of the text the patterns just suggested would cover.
    fn record_suggestion(&mut self, invocation: &Invocation<'_>, found: usize) {
        let (0, Some(span)) = (self.nested, invocation.span) else { return };
        if found == self.findings.len() {
            return;
        }
        let normal = format!("^{}$", regex::escape(&render_marks(&join_words(invocation.argv))));
        let suggested = self.findings[found..]
            .iter()
            .any(|finding| matches!(&finding.remedy, Remedy::AllowPattern(pattern) if *pattern == normal));
        if suggested {
            self.suggested.push((span, normal));
        }
    }

    /// Matches the configured patterns against the command as written and as parsed.
    fn match_custom_patterns(&mut self, invocation: &Invocation<'_>) {
        let normal = join_words(invocation.argv);
        let normal = if is_marked(&normal) { render_marks(&normal) } else { normal };
        let source = invocation.span.map_or("", |span| span.of(&self.text));
        if self.guard.allows(&normal) || (!source.is_empty() && self.guard.allows(source.trim())) {
            self.lifted = true;
            if let (0, Some(span)) = (self.nested, invocation.span) {
                self.allowed.push(span);
            }
        }
        if let Some(pattern) = self.guard.custom_denied(&normal).map(str::to_owned) {
            self.report_custom(&pattern, &normal);
        }
    }

    fn dispatch(&mut self, invocation: &Invocation<'_>, state: Rc<State>) -> Flow {
        let [first, args @ ..] = invocation.argv else { return Flow::either(state) };
        let Some(name) = first.known() else {
            self.report_computed("unknown-command", "the name of the command", &join_words(invocation.argv));
            return Flow::either(state);
        };
        if name.contains("{}") {
            self.report_computed("unknown-command", "the name of the command", &join_words(invocation.argv));
            return Flow::either(state);
        }
        if name.is_empty() {
            return Flow::either(state).printing(PartialWord::default());
        }
        if let Some(body) = state.functions.get(name).cloned() {
            return self.call_function(name, args, &body, &state, invocation.input);
        }
        if let Some(code) = state.aliases.get(name).cloned() {
            let mut inner = (*state).clone();
            Rc::make_mut(&mut inner.aliases).remove(name);
            let mut argv: Vec<PartialWord> =
                code.split_whitespace().map(PartialWord::text).chain(args.iter().cloned()).collect();
            // After an alias that ends in a blank, the next word may be an alias, too.
            let next = argv.len() - args.len();
            if code.ends_with([' ', '\t'])
                && let Some(more) = argv.get(next).and_then(|word| inner.aliases.get(word.as_str())).cloned()
            {
                argv.splice(next..=next, more.split_whitespace().map(PartialWord::text));
            }
            self.invoke(&Invocation { argv: &argv, input: invocation.input, span: None }, Rc::new(inner));
        }
        let base = match name.rsplit_once('/') {
            Some((_, base)) => {
                for place in self.judge_program(name, &state) {
                    self.run_file(&place, Language::Shell(Dialect::Bash), &state, invocation);
                }
                base
            }
            None => name,
        };
        let named = NamedCommand { name: base, args, input: invocation.input };
        if let Some(flow) = self.builtin(&named, invocation, &state) {
            return flow;
        }
        self.check_rules(&named, invocation.argv);
        if base == "git" {
            self.git(&named, invocation, &state);
        }
        self.judge_command_options(&named, invocation, &state);
        if let Some(unwrapped) = self.unwrap_command(&named, invocation, &state) {
            self.judge_by_profile(
                &args[..unwrapped.own.min(args.len())],
                super::arg_profile::of(base),
                &state,
            );
            return unwrapped.flow;
        }
        let interpreted = self.judge_interpreter(&named, invocation, &state);
        self.judge_operands(&named, &state);
        match interpreted {
            Some(flow) => flow,
            None => self.apply_effects(&named, state),
        }
    }

    /// A call of a function that the line defines.
    fn call_function(
        &mut self,
        name: &str,
        args: &[PartialWord],
        body: &Command,
        state: &Rc<State>,
        input: &Input,
    ) -> Flow {
        if let Some(call) = self.calls.iter().find(|call| call.name == name) {
            if self.parallel > call.parallel {
                self.report_danger("fork-bomb", "a function that starts itself again beside itself", name);
            }
            return Flow::either(state.clone());
        }
        if self.calls.len() > 32 {
            self.report_not_understood("functions call each other too deep", name);
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

    /// Reports a command, or code, that is known only at run time. With the deny rules off it is
    /// not a danger by itself, but it can access any path: then a cage has to confine it.
    pub(super) fn report_computed(&mut self, rule: &str, what: &str, words: &str) {
        let denied = self.guard.denies();
        let held = self.context.reach != Reach::Workspace || self.context.confinement == Confinement::Cage;
        if !denied && held {
            return;
        }
        let plain = Remedy::Rewrite("write out what is to be run".to_owned());
        self.report(Finding {
            kind: if denied { Kind::NotUnderstood } else { Kind::PathOutside },
            rule: rule.to_owned(),
            why: format!("{what} is only known when it runs"),
            words: super::partial_word::render_marks(words),
            remedy: if denied { plain } else { Remedy::Cage },
        });
    }

    /// Reports a dangerous command.
    pub(super) fn report_danger(&mut self, rule: &str, why: &str, words: &str) {
        // The words may be a part of the command; a pattern has to cover all of it.
        let command = self.current.and_then(|at| self.commands.get(at)).map(|command| command.argv.join(" "));
        let remedy = match command {
            Some(command) => Remedy::AllowPattern(format!("^{}$", regex::escape(&command))),
            None => Remedy::DenyRules,
        };
        self.report(Finding {
            kind: Kind::Danger,
            rule: rule.to_owned(),
            why: why.to_owned(),
            words: render_marks(words),
            remedy,
        });
    }

    /// Reports something dangerous at a location in the text.
    pub(super) fn report_danger_at(&mut self, rule: &str, why: &str, span: Span) {
        let words = span.of(&self.text).to_owned();
        self.report_danger(rule, why, &words);
    }

    fn report_custom(&mut self, pattern: &str, words: &str) {
        self.report(Finding {
            kind: Kind::Danger,
            rule: format!("custom_deny_patterns:{pattern}"),
            why: "a pattern of the configuration matches".to_owned(),
            words: words.to_owned(),
            remedy: Remedy::DropDeny(pattern.to_owned()),
        });
    }
}
