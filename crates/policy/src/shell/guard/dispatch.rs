//! One command with its arguments: configured patterns, functions, builtins, rules, wrappers,
//! paths.
//!
//! Every command goes through [`Interpreter::invoke`], whether the shell or a wrapper runs it.

use super::builtins::{Language, join_words};
use super::finding::{Finding, Kind, Remedy};
use super::guard::ParsedCommand;
use super::interpreter::{Call, Flow, Input, Interpreter, MAX_NESTING, both};
use super::interpreters::runs_code;
use super::options::NamedCommand;
use super::partial_word::{PartialWord, is_marked, render_marks};
use super::programs;
use super::state::{ShellDir, State, Variable};
use crate::path::CleanPath;
use crate::policy::Reach;
use crate::shell::Dialect;
use crate::shell::ast::Command;
use crate::shell::span::Span;
use std::rc::Rc;

/// Maximum number of calls of one function in each other that are followed with other arguments.
const MAX_RECURSION: usize = 3;

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
        // Rules and options read every word.
        self.count_entries(invocation.argv.len());
        self.count_bytes(invocation.argv.iter().map(|word| word.as_str().len()).sum());
        if !self.count_step() {
            return Flow::either(state);
        }
        let before = self.lifted;
        if self.guard.has_patterns() {
            self.match_custom_patterns(invocation, &state);
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

    /// Judges a command that was assembled from arguments.
    pub(super) fn run_words(&mut self, argv: &[PartialWord], input: &Input, state: &Rc<State>) -> Flow {
        self.invoke(&Invocation { argv, input, span: None }, state.clone())
    }

    /// Records which part of the text the patterns just suggested would cover.
    fn record_suggestion(&mut self, invocation: &Invocation<'_>, found: usize) {
        let (0, Some(span)) = (self.nested, invocation.span) else { return };
        let suggested = self.findings[found..].iter().find_map(|finding| match &finding.remedy {
            Remedy::AllowPattern(pattern) => Some(pattern.clone()),
            _ => None,
        });
        self.suggested.extend(suggested.map(|pattern| (span, pattern)));
    }

    /// Matches the configured patterns against the command as written and as parsed.
    fn match_custom_patterns(&mut self, invocation: &Invocation<'_>, state: &State) {
        let normal = join_words(invocation.argv);
        let normal = if is_marked(&normal) { render_marks(&normal) } else { normal };
        let source = invocation.span.map_or("", |span| span.of(&self.text));
        let placed = match (state.cwd.as_slice(), invocation.span) {
            ([ShellDir::At(cwd)], Some(_)) if self.nested == 0 => placed_command(cwd, &normal),
            _ => String::new(),
        };
        let written = !source.is_empty() && self.guard.allows(source.trim());
        if self.guard.allows(&normal) || written || self.guard.allows_placed(&placed) {
            self.lifted = true;
            if let (0, Some(span)) = (self.nested, invocation.span) {
                self.allowed.push(span);
            }
        }
        if let Some(pattern) = self.guard.custom_denied(&normal) {
            self.report(Finding::custom(pattern, &normal));
        }
    }

    fn dispatch(&mut self, invocation: &Invocation<'_>, state: Rc<State>) -> Flow {
        let [first, args @ ..] = invocation.argv else { return Flow::either(state) };
        let Some(name) = first.known().filter(|name| !name.contains("{}")) else {
            self.report_computed("unknown-command", "the name of the command", &join_words(invocation.argv));
            return Flow::either(state);
        };
        if name.is_empty() {
            return Flow::either(state).printing(PartialWord::default());
        }
        if let Some(function) = state.functions.get(name).cloned() {
            let calls = function
                .bodies
                .iter()
                .map(|body| self.call_function(name, args, body, &state, invocation.input));
            let result = calls.reduce(Flow::or);
            // A wrapper runs the program of this name, not the function.
            if function.is_certain && invocation.span.is_some() {
                return result.unwrap_or_else(|| Flow::either(state));
            }
        }
        if let Some(code) = state.aliases.get(name).cloned() {
            let mut inner = (*state).clone();
            Rc::make_mut(&mut inner.aliases).remove(name);
            // The shell replaces text: the words stay words, the code may be any.
            let quote = |word: &PartialWord| format!(" '{}'", word.as_str().replace('\'', "'\\''"));
            // After an alias that ends in a blank, the next word may be an alias, too.
            let next = args.first().filter(|_| code.ends_with([' ', '\t']));
            let next = next.and_then(|word| inner.aliases.get(word.as_str())).cloned();
            let rest: String = args[usize::from(next.is_some())..].iter().map(quote).collect();
            if code.contains(|c: char| "\\'\"`$;&|<>(){}\n#*?[".contains(c)) {
                let code = PartialWord::text(format!("{code} {}{rest}", next.unwrap_or_default()));
                self.interpret_string(&code, &Rc::new(inner), invocation.input);
            } else {
                let words =
                    code.split_whitespace().chain(next.iter().flat_map(|next| next.split_whitespace()));
                let words = words.map(PartialWord::text);
                let argv: Vec<PartialWord> =
                    words.chain(args[usize::from(next.is_some())..].iter().cloned()).collect();
                self.run_words(&argv, invocation.input, &Rc::new(inner));
            }
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let named = NamedCommand { name: base, args, input: invocation.input, argv: invocation.argv };
        if name.contains('/') {
            for place in self.judge_program(name, &state) {
                self.run_file(&place, Language::Shell(Dialect::Bash), &state, &named);
            }
        }
        if let Some(verb) = base.strip_prefix("git-").filter(|verb| !verb.is_empty()) {
            let words = [PartialWord::fixed("git"), PartialWord::text(verb)];
            let argv: Vec<PartialWord> = words.into_iter().chain(args.iter().cloned()).collect();
            return self.run_words(&argv, invocation.input, &state);
        }
        // A directory of the workspace may be on the `PATH` by now.
        if !name.contains('/') && state.variables.contains_key("PATH") {
            let is_named = |place: &&CleanPath| place.as_path().ends_with(name);
            for place in state.files.keys().filter(is_named).cloned().collect::<Vec<_>>() {
                self.run_file(&place, Language::Shell(Dialect::Bash), &state, &named);
            }
        }
        self.judge_partial_read(&named);
        if let Some(flow) = self.builtin(&named, &state) {
            return flow;
        }
        let remedy = self.exact_pattern(invocation, &state);
        self.check_rules(&named, &remedy);
        if !name.contains('/') && programs::find(base).is_none_or(|program| program.wraps.is_some()) {
            self.check_unknown_program(&named);
        }
        if base == "git" {
            self.git(&named, &state);
        }
        self.judge_command_options(&named, &state);
        if let Some(unwrapped) = self.unwrap_command(&named, &state) {
            let program = programs::find(base).unwrap_or(&programs::UNKNOWN);
            self.judge_arguments(&args[..unwrapped.own.min(args.len())], program, &state);
            return unwrapped.flow;
        }
        let interpreted = self.judge_interpreter(&named, &state);
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
        let running = || self.calls.iter().filter(|call| call.name == name);
        if running().any(|call| self.parallel > call.parallel) {
            self.report_danger("fork-bomb", "a function that starts itself again beside itself", name);
            return Flow::either(state.clone());
        }
        if running().any(|call| call.args == args) || running().count() >= MAX_RECURSION {
            return Flow::either(state.clone());
        }
        if self.calls.len() > 32 {
            self.report_not_understood("functions call each other too deep", name);
            return Flow::either(state.clone());
        }
        self.calls.push(Call { name: name.to_owned(), parallel: self.parallel, args: args.to_vec() });
        let mut inner = (**state).clone();
        let arguments = std::mem::replace(&mut inner.arguments, args.to_vec());
        let lifted = std::mem::take(&mut self.lifted);
        self.locals.push(Vec::new());
        let mut flow = self.command(body, Rc::new(inner), input);
        flow.ok = both(flow.ok, self.escaped.take());
        let locals = self.locals.pop().unwrap_or_default();
        self.lifted = lifted;
        self.calls.pop();
        for state in [&mut flow.ok, &mut flow.fail, &mut flow.ended].into_iter().flatten() {
            let state = Rc::make_mut(state);
            state.arguments.clone_from(&arguments);
            locals.iter().for_each(|name| state.assign(name, Variable::unknown()));
        }
        flow
    }

    /// Reports a command, or code, that is known only at run time. With the deny rules off it is
    /// not a danger by itself, but it can access any path: then a cage has to confine it.
    pub(super) fn report_computed(&mut self, rule: &str, what: &str, words: &str) {
        let denied = self.guard.denies();
        let held = self.context.reach != Reach::Workspace || self.context.confinement.holds_paths();
        if !denied && held {
            return;
        }
        let plain = Remedy::Rewrite("write out what is to be run".to_owned());
        let (kind, remedy) =
            if denied { (Kind::NotUnderstood, plain) } else { (Kind::PathOutside, Remedy::Cage) };
        let why = format!("{what} is only known when it runs");
        self.report(Finding::new(kind, rule, why, render_marks(words), remedy));
    }

    /// Reports something dangerous. No pattern is proposed: the words are a part of a command, or
    /// depend on others.
    pub(super) fn report_danger(&mut self, rule: &str, why: &str, words: &str) {
        self.report_danger_with(rule, why, words, Remedy::Ask);
    }

    pub(super) fn report_danger_with(&mut self, rule: &str, why: &str, words: &str, remedy: Remedy) {
        self.report(Finding::new(Kind::Danger, rule, why, render_marks(words), remedy));
    }

    /// The pattern that allows exactly this simple command in this directory; none if the words do
    /// not say all that would run, or if other words could read the same.
    fn exact_pattern(&self, invocation: &Invocation<'_>, state: &State) -> Remedy {
        let [ShellDir::At(cwd)] = state.cwd.as_slice() else { return Remedy::Ask };
        let name = invocation.argv.first().map_or("", PartialWord::as_str);
        let plain = |word: &PartialWord| {
            word.known().is_some_and(|text| !text.is_empty() && !text.contains(char::is_whitespace))
        };
        let direct = self.nested == 0
            && self.calls.is_empty()
            && invocation.span.is_some()
            && matches!(invocation.input, Input::Inherited)
            && invocation.argv.iter().all(plain)
            && !name.contains('/')
            && !cwd.to_string().contains(char::is_whitespace)
            && programs::find(name).is_some_and(|program| program.wraps.is_none() && !program.runs_options())
            && !runs_code(name);
        if !direct {
            return Remedy::Ask;
        }
        let placed = placed_command(cwd, &join_words(invocation.argv));
        // Outside brackets these two need no escape.
        let escaped = regex::escape(&placed).replace("\\&", "&").replace("\\-", "-");
        Remedy::AllowPattern(format!("^{escaped}$"))
    }
}

/// A command with its directory, as a pattern names both.
fn placed_command(cwd: &CleanPath, command: &str) -> String {
    format!("cd {cwd} && {command}")
}
