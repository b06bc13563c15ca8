//! Commands that run other commands. The inner command is judged as if it had been written itself.

use super::arguments::{self, Argument};
use super::builtins::join_words;
use super::interpreter::{Flow, Input, Interpreter};
use super::interpreters::runs_code;
use super::options::{Grammar, NamedCommand, Order, parse};
use super::partial_word::PartialWord;
use super::programs::{self, has_word};
use super::state::State;
use std::rc::Rc;

/// Subcommands whose operands are another command, and their programs: `bundle exec rspec`.
const VERBS: &[(&str, &str)] = &[
    ("exec", "bundle npm pnpm yarn direnv mise asdf kubectl docker"),
    ("run", "poetry pipenv uv rye conda op rustup"),
    ("x", "npm mise"),
    ("dlx", "pnpm yarn"),
    ("stat", "perf"),
    ("record", "perf"),
];

/// Commands of `cmake -E` and the programs that they stand for; any other has a program's name.
const CMAKE: &[(&str, &str)] = &[
    ("remove", "rm"),
    ("remove_directory", "rm -r"),
    ("copy", "cp"),
    ("copy_if_different", "cp"),
    ("copy_if_newer", "cp"),
    ("copy_directory", "cp"),
    ("copy_directory_if_different", "cp"),
    ("copy_directory_if_newer", "cp"),
    ("rename", "mv"),
    ("make_directory", "mkdir -p"),
    ("create_symlink", "ln -s"),
    ("create_hardlink", "ln"),
    ("chdir", "env -C"),
];

/// The result of unwrapping a command.
pub(super) struct UnwrappedCommand {
    /// Number of leading arguments that are the wrapper's own.
    pub(super) own: usize,
    /// How the inner command ends.
    pub(super) flow: Flow,
}

impl Interpreter<'_> {
    /// Judges what a command runs; `None` if it is not a wrapper.
    pub(super) fn unwrap_command(
        &mut self,
        call: &NamedCommand<'_>,
        state: &Rc<State>,
    ) -> Option<UnwrappedCommand> {
        match call.name {
            "gdb" | "lldb" | "rr" | "cgdb" => {
                let own =
                    call.args.iter().position(|arg| matches!(arg.as_str(), "--args" | "--" | "record"))? + 1;
                return self.judge_inner(own, call, state);
            }
            // Only its redirections take effect: they are the shell's from here on.
            "exec" if call.args.is_empty() && !matches!(call.input, Input::Inherited) => {
                self.replaced_input = Some(call.input.clone());
            }
            "xargs" => return Some(self.xargs(call, state)),
            "find" => return self.find(call, state),
            "fd" | "fdfind" => return self.fd(call, state),
            "parallel" => return Some(self.parallel_jobs(call, state)),
            "watch" | "hyperfine" => {
                let (options, own) = arguments::parse(call.args, programs::find(call.name)?, Order::First);
                if options.iter().any(|option| matches!(option, Argument::Flag("x" | "exec"))) {
                    return self.judge_inner(own, call, state);
                }
                return Some(self.judge_code_string(&call.args[own..], own, state, call.input));
            }
            "script" | "su" | "runuser" | "flock" | "npx" | "npm" | "expect"
                if self.code_option(call).is_some() =>
            {
                let code = self.code_option(call)?;
                let flow = self.interpret_with_sh(&code, state, call.input);
                return Some(UnwrappedCommand { own: call.args.len(), flow });
            }
            "env" => {
                if let Some(unwrapped) = self.env_string(call, state) {
                    return Some(unwrapped);
                }
            }
            "cmake" if call.args.first().is_some_and(|arg| arg.as_str() == "-E") => {
                let (verb, rest) = call.args.get(1..)?.split_first()?;
                let known = CMAKE.iter().find(|(name, _)| *name == verb.as_str());
                let words = known.map_or_else(
                    || vec![verb.clone()],
                    |(_, program)| program.split(' ').map(PartialWord::text).collect(),
                );
                let args: Vec<PartialWord> = words.into_iter().chain(rest.iter().cloned()).collect();
                return self.judge_inner(0, &NamedCommand { args: &args, ..*call }, state);
            }
            "jobs" if call.args.first().is_some_and(|arg| arg.as_str().starts_with("-x")) => {
                return self.judge_inner(1, call, state);
            }
            "ip" => {
                let own = call.args.iter().position(|arg| arg.as_str() == "exec")? + 2;
                return self.judge_inner(own, call, state);
            }
            "command" if call.args.first().is_some_and(|arg| matches!(arg.as_str(), "-v" | "-V")) => {
                let found = call.args.get(1).cloned().unwrap_or_default();
                return Some(UnwrappedCommand {
                    own: call.args.len(),
                    flow: Flow::either(state.clone()).printing(found),
                });
            }
            _ => {}
        }
        let program = programs::find(call.name).unwrap_or(&programs::UNKNOWN);
        let Some(skip) = program.wraps else { return self.verb_command(call, state) };
        let (parsed, start) = arguments::parse(call.args, program, Order::First);
        let mut start = start + skip;
        // A lone `-` is `-i`; a machine comes before the command, and is none.
        start += usize::from(call.args.get(start).is_some_and(|arg| match call.name {
            "env" => arg.as_str() == "-",
            "setarch" => arg.as_str().contains(|c: char| c.is_ascii_digit()) && !runs_code(arg.as_str()),
            _ => false,
        }));
        let assignments = call
            .args
            .iter()
            .skip(start)
            .take_while(|arg| takes_assignments(call.name) && is_assignment(call.name, arg));
        let own = start + assignments.count();
        let mut place = state.clone();
        for arg in call.args.iter().take(own).skip(start) {
            if let Some((name, value)) = arg.as_str().split_once('=') {
                let value = super::state::Variable::Scalar(vec![PartialWord::text(value)]);
                self.judge_environment(name, &value, state, super::simple::Scope::Command);
                Rc::make_mut(&mut place).assign(name, value);
            }
        }
        for argument in parsed {
            match (call.name, argument) {
                ("env" | "sudo" | "doas", Argument::Value { name, value, .. })
                    if matches!(name, "C" | "D") || name.len() > 2 && "chdir".starts_with(name) =>
                {
                    let to = self.judge_directory(value, state);
                    Rc::make_mut(&mut place).change_dir(to);
                }
                ("strace" | "ltrace", Argument::Value { name: "o" | "output", value, .. }) => {
                    if let Some(code) = value.strip_prefix(['|', '!']) {
                        self.interpret_with_sh(&PartialWord::text(code), state, call.input);
                    }
                }
                _ => {}
            }
        }
        let mut unwrapped = self.judge_inner(own, call, &place)?;
        if !Rc::ptr_eq(&place, state) {
            unwrapped.flow = self.keep_process_effects(state, unwrapped.flow);
        }
        Some(unwrapped)
    }

    /// Judges the command that follows a wrapper's own arguments; `None` if nothing does.
    fn judge_inner(
        &mut self,
        own: usize,
        call: &NamedCommand<'_>,
        state: &Rc<State>,
    ) -> Option<UnwrappedCommand> {
        let rest = call.args.get(own..).filter(|rest| !rest.is_empty())?;
        let flow = self.run_words(rest, call.input, state);
        // Only the shell's own wrappers change its variables and its directory.
        let flow = if matches!(call.name, "command" | "builtin" | "exec") {
            flow
        } else {
            self.keep_process_effects(state, flow)
        };
        Some(UnwrappedCommand { own, flow })
    }

    /// The effects of another process: its files and its output.
    pub(super) fn keep_process_effects(&mut self, state: &Rc<State>, inner: Flow) -> Flow {
        let mut state = state.clone();
        self.absorb(&mut state, &inner);
        Flow::either(state).printing(inner.output)
    }

    fn judge_code_string(
        &mut self,
        args: &[PartialWord],
        own: usize,
        state: &Rc<State>,
        input: &Input,
    ) -> UnwrappedCommand {
        let code = PartialWord::text(join_words(args));
        let flow = self.interpret_with_sh(&code, state, input);
        UnwrappedCommand { own, flow: self.keep_process_effects(state, flow) }
    }

    /// `-c CODE` of programs that pass it to a shell.
    fn code_option(&self, call: &NamedCommand<'_>) -> Option<PartialWord> {
        let valued = "c u w E s g G T command session-command call user shell";
        call.values(valued, "c command session-command call").first().map(|code| PartialWord::text(*code))
    }

    fn env_string(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<UnwrappedCommand> {
        let grammar = Grammar::leading("u C S unset chdir split-string");
        let code = call.values(grammar, "S split-string").first().map(|code| (*code).to_owned())?;
        let own = parse(call.args, grammar).1;
        let rest = join_words(&call.args[own..]);
        // `env` has its own escapes for blanks, and a shell reads them in the same places.
        let code = ["\\_", "\\t", "\\n", "\\f", "\\v", "\\r"]
            .iter()
            .fold(code, |code, blank| code.replace(blank, " "));
        let flow = self.interpret_string(&PartialWord::text(format!("{code} {rest}")), state, call.input);
        Some(UnwrappedCommand { own: call.args.len(), flow: self.keep_process_effects(state, flow) })
    }

    fn verb_command(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<UnwrappedCommand> {
        let is_verb = |arg: &PartialWord| {
            VERBS.iter().any(|(verb, programs)| arg.as_str() == *verb && has_word(programs, call.name))
        };
        let verb = call.args.iter().position(is_verb)?;
        let behind = &call.args[verb + 1..];
        let mut start = parse(behind, Grammar::leading("n p name package with")).1;
        if matches!(call.name, "conda" | "direnv" | "rustup" | "kubectl" | "docker")
            && behind.get(start).is_some_and(|arg| arg.as_str() != "--")
        {
            start += 1;
        }
        if behind.get(start).is_some_and(|arg| arg.as_str() == "--") {
            start += 1;
        }
        let own = verb + 1 + start;
        self.judge_inner(own, call, state)
    }
}

fn takes_assignments(name: &str) -> bool {
    matches!(name, "env" | "sudo" | "doas" | "dotenv")
}

fn is_assignment(wrapper: &str, arg: &PartialWord) -> bool {
    arg.as_str().split_once('=').is_some_and(|(name, _)| {
        // `env` accepts any name, also one that no shell would.
        !name.is_empty() && wrapper == "env"
            || !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !name.as_bytes()[0].is_ascii_digit()
    })
}
