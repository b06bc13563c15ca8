//! Programs that run code: shells, whose code is parsed like the line itself, and other languages.
//!
//! Code from a pipe, a download or a computation is never accepted unseen.

use super::builtins::Language;
use super::interpreter::{Flow, Input, Interpreter};
use super::options::{Grammar, Item, NamedCommand, parse};
use super::partial_word::{ANYTHING, PartialWord};
use super::programs::has_word;
use super::state::{Content, State};
use crate::intent::Access;
use crate::path::CleanPath;
use crate::shell::Dialect;
use std::path::Path;
use std::rc::Rc;

/// Shells with a supported grammar.
const SHELLS: &str = "sh bash zsh dash ksh ksh93 mksh ash yash rbash fish csh tcsh pwsh hush";

/// An interpreter of another language: its names, the letters and names of options with code, and
/// the letters of options with another value.
struct InterpreterSpec {
    names: &'static str,
    code: &'static str,
    code_long: &'static str,
    valued: &'static str,
}

const fn spec(
    names: &'static str,
    code: &'static str,
    code_long: &'static str,
    valued: &'static str,
) -> InterpreterSpec {
    InterpreterSpec { names, code, code_long, valued }
}

const INTERPRETERS: &[InterpreterSpec] = &[
    spec("python pypy jython ipython micropython", "c", "", "mWXQ"),
    spec("perl", "eE", "", "MmIFi0lCDx"),
    spec("ruby jruby", "e", "", "rIiFCEK"),
    spec("node nodejs bun tsx ts-node", "ep", "eval print", "rC"),
    spec("deno", "", "", ""),
    spec("php", "rBRE", "run", "cdzfFS"),
    spec("jshell lua luajit tclsh wish racket sbcl gforth", "e", "eval", "lc"),
    spec("Rscript R julia elixir groovy scala osascript ghci octave", "eE", "eval print", "lI"),
    spec("guile", "c", "", "elsLCx"),
    spec("gnuplot", "e", "", "cdp"),
    spec("expect", "c", "", "f"),
];

/// The interpreter of this name, with or without a version.
fn find(name: &str) -> Option<&'static InterpreterSpec> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.iter().find(|known| has_word(known.names, name) || has_word(known.names, plain))
}

/// Whether this program is a shell: its input is commands.
pub fn is_shell(name: &str) -> bool {
    has_word(SHELLS, name)
}

/// Whether a program runs code that its arguments or its input give.
pub(super) fn runs_code(name: &str) -> bool {
    is_shell(name) || find(name).is_some()
}

impl Interpreter<'_> {
    /// Judges the code that a program runs; `None` if it runs none.
    pub(super) fn judge_interpreter(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Option<Flow> {
        if is_shell(call.name) {
            return Some(self.shell(call, state));
        }
        let interpreter = find(call.name)?;
        if call.name == "deno" && call.args.first().is_some_and(|arg| arg.as_str() == "eval") {
            for code in &call.args[1..] {
                self.judge_code(code, Language::Other, state);
            }
            return Some(Flow::either(state.clone()));
        }
        self.language(interpreter, call, state);
        Some(Flow::either(state.clone()))
    }

    fn shell(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) -> Flow {
        let grammar = Grammar::leading("o O rcfile init-file init-command command");
        // `+x` switches an option off, and is an option too.
        let switched: Vec<PartialWord> = call.args.iter().map(with_minus).collect();
        let (items, start) = parse(&switched, grammar);
        let has = |wanted: char| {
            items.iter().any(|item| matches!(item, Item::Short(letter, _) if *letter == wanted))
        };
        let operands = &call.args[start.min(call.args.len())..];
        for file in call.values(grammar, "rcfile init-file") {
            let file = PartialWord::text(file);
            if is_stream(file.as_str()) {
                self.code_from_input(Language::Shell(Dialect::Bash), true, call, state);
            }
            for place in self.judge_path(file.as_str(), Access::Read, state) {
                self.run_file(&place, Language::Shell(Dialect::Bash), state, call);
            }
        }
        let plain = matches!(call.name, "sh" | "dash" | "ash" | "hush" | "yash");
        let dialect = if plain { Dialect::Posix } else { Dialect::Bash };
        let mut inner = (**state).clone();
        inner.exits_on_error = has('e');
        for code in call.values(grammar, "C command init-command") {
            self.interpret_as(dialect, &PartialWord::text(code), &Rc::new(inner.clone()), call.input);
        }
        if has('c') {
            let Some(code) = operands.first() else {
                self.report_computed("unknown-code", "the code of this shell", &call.words());
                return Flow::either(state.clone());
            };
            inner.name = operands.get(1).cloned().unwrap_or_else(|| PartialWord::gap(ANYTHING));
            inner.arguments = operands.get(2..).unwrap_or_default().to_vec();
            let flow = self.interpret_as(dialect, code, &Rc::new(inner), call.input);
            let mut after = state.clone();
            self.absorb(&mut after, &flow);
            return Flow::either(after).printing(flow.output);
        }
        match operands.first() {
            Some(script) if !has('s') && !is_stream(script.as_str()) => {
                self.judge_unknown_script(script, call, state);
                for place in self.judge_path(script.as_str(), Access::Read, state) {
                    self.run_file(&place, Language::Shell(dialect), state, call);
                }
            }
            _ if items.iter().any(|item| matches!(item, Item::Long("version" | "help", _))) => {}
            script => self.code_from_input(
                Language::Shell(dialect),
                script.is_some_and(|s| is_descriptor(s.as_str())),
                call,
                state,
            ),
        }
        Flow::either(state.clone())
    }

    fn language(&mut self, known: &InterpreterSpec, call: &NamedCommand<'_>, state: &Rc<State>) {
        let mut args = call.args.iter();
        let mut inline = false;
        while let Some(arg) = args.next() {
            let text = arg.as_str();
            if let Some(long) = text.strip_prefix("--") {
                let (name, glued) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                if has_word(known.code_long, name) {
                    let code =
                        glued.map(PartialWord::text).or_else(|| args.next().cloned()).unwrap_or_default();
                    self.judge_code(&code, Language::Other, state);
                    inline = true;
                } else if matches!(name, "version" | "help") {
                    return;
                }
                continue;
            }
            if text.len() < 2 || !text.starts_with('-') {
                if !inline {
                    self.script_operand(arg, call, state);
                }
                return;
            }
            let letter = text
                .char_indices()
                .skip(1)
                .find(|(_, c)| known.code.contains(*c) || known.valued.contains(*c));
            let Some((at, letter)) = letter else {
                if matches!(text, "-V" | "-v" | "-h") {
                    return;
                }
                continue;
            };
            let glued = &text[at + letter.len_utf8()..];
            if known.code.contains(letter) {
                let code = if glued.is_empty() {
                    args.next().cloned().unwrap_or_default()
                } else {
                    PartialWord::text(glued)
                };
                self.judge_code(&code, Language::Other, state);
                inline = true;
                if letter == 'c' {
                    return;
                }
            } else if glued.is_empty() && !"i0lCxp".contains(letter) {
                let value = args.next().map(PartialWord::as_str).unwrap_or_default();
                if letter == 'm' && call.name.starts_with("py") {
                    let module = value.to_owned();
                    let rest: Vec<PartialWord> =
                        std::iter::once(PartialWord::text(module)).chain(args.cloned()).collect();
                    if matches!(rest[0].as_str(), "timeit" | "pdb" | "code" | "doctest") {
                        rest[1..].iter().for_each(|code| self.judge_code(code, Language::Other, state));
                    }
                    if matches!(rest[0].as_str(), "code" | "asyncio" | "pdb" | "idlelib" | "IPython") {
                        self.code_from_input(Language::Other, false, call, state);
                    }
                    if matches!(rest[0].as_str(), "pip" | "pip3") {
                        self.run_words(&rest, call.input, state);
                    }
                    return;
                }
                if letter == 'f' {
                    self.script_operand(&PartialWord::text(value), call, state);
                    return;
                }
            }
        }
        if !inline {
            self.code_from_input(Language::Other, false, call, state);
        }
    }

    fn script_operand(&mut self, script: &PartialWord, call: &NamedCommand<'_>, state: &Rc<State>) {
        if is_stream(script.as_str()) {
            return self.code_from_input(Language::Other, is_descriptor(script.as_str()), call, state);
        }
        self.judge_unknown_script(script, call, state);
        for place in self.judge_path(script.as_str(), Access::Read, state) {
            self.run_file(&place, Language::Other, state, call);
        }
    }

    /// A script whose name is not fully known may be any file that this line has downloaded.
    fn judge_unknown_script(&mut self, script: &PartialWord, call: &NamedCommand<'_>, state: &Rc<State>) {
        if script.known().is_none() && state.files.values().any(|content| *content == Content::Downloaded) {
            self.report_danger(
                "download-then-run",
                "may run what the same line has downloaded",
                &call.words(),
            );
        }
    }

    /// Code from standard input or a descriptor.
    fn code_from_input(
        &mut self,
        language: Language,
        substituted: bool,
        call: &NamedCommand<'_>,
        state: &Rc<State>,
    ) {
        if substituted {
            return self.report_danger(
                "pipe-to-interpreter",
                "runs code that another command prints",
                &call.words(),
            );
        }
        let is_script = matches!(language, Language::Shell(_));
        let outer = std::mem::replace(&mut self.script_is_input, is_script);
        match call.input {
            Input::Inherited => {}
            Input::Piped(_) => {
                self.report_danger("pipe-to-interpreter", "runs code that comes from a pipe", &call.words())
            }
            Input::Text(code) if code.known().is_none() && !self.is_partly_known(code.as_str()) => {
                self.report_computed("unknown-code", "this code", code.as_str());
            }
            Input::Text(code) => match language {
                Language::Shell(dialect) => {
                    self.interpret_as(dialect, code, state, &Input::Inherited);
                }
                _ => self.judge_code(code, language, state),
            },
            Input::File(places) => {
                for place in places.clone() {
                    self.run_file(&place, language, state, call);
                }
            }
        }
        self.script_is_input = outer;
    }

    /// A file that is run: its content must be known if this line wrote it.
    pub(super) fn run_file(
        &mut self,
        place: &CleanPath,
        language: Language,
        state: &Rc<State>,
        call: &NamedCommand<'_>,
    ) {
        let landed = self.resolve_path(place, state).path;
        if is_stream(&landed.to_string()) {
            return self.code_from_input(language, false, call, state);
        }
        match state.files.get(place).or_else(|| state.files.get(&landed)) {
            None => {}
            Some(Content::Downloaded) => {
                self.report_danger(
                    "download-then-run",
                    "runs what the same line has downloaded",
                    &call.words(),
                );
            }
            Some(Content::Computed) => {
                self.report_danger("write-then-run", "runs what the same line has computed", &call.words());
            }
            Some(Content::Known(code)) => {
                let code = PartialWord::text(code.as_str());
                let named = code.as_str().lines().next().and_then(|line| line.strip_prefix("#!"));
                let foreign = named.is_some_and(|named| !named.trim_end().ends_with("sh"));
                match language {
                    Language::Shell(dialect) if !foreign => {
                        self.interpret_as(dialect, &code, state, &Input::Inherited);
                    }
                    _ => self.judge_code(&code, language, state),
                }
            }
        }
    }
}

fn with_minus(arg: &PartialWord) -> PartialWord {
    match arg.as_str().strip_prefix('+') {
        Some(letters) if !letters.is_empty() => PartialWord::text(format!("-{letters}")),
        _ => arg.clone(),
    }
}

/// Standard input by any of its names, or a process substitution.
pub(super) fn is_stream(script: &str) -> bool {
    if script == "-" {
        return true;
    }
    let clean = CleanPath::absolute(Path::new(script)).map(|path| path.to_string()).unwrap_or_default();
    clean == "/dev/stdin"
        || clean.starts_with("/dev/fd/")
        || (clean.starts_with("/proc/") && clean.contains("/fd/"))
}

/// A descriptor that another command feeds.
pub(super) fn is_descriptor(script: &str) -> bool {
    is_stream(script) && script.contains("fd/")
}
