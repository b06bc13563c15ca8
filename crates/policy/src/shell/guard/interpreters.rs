//! Programs that run code: shells, whose code is parsed like the line itself, and other languages.
//!
//! Code from a pipe, a download or a computation is never accepted unseen.

use super::builtins::Language;
use super::interpreter::{Flow, Input, Interpreter};
use super::options::{Grammar, NamedCommand};
use super::partial_word::{ANYTHING, PartialWord};
use super::programs::has_word;
use super::state::{Content, State};
use crate::intent::{Access, FileKind};
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
    spec("perl", "eE", "", "MmIFiCDx"),
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

/// Options of these languages with a file or a module that is run before the script.
const PRELOADS: &str = "require import loader experimental-loader";
/// What a script or a module may be called besides its name.
const SCRIPT_ENDS: &[&str] =
    &["", ".js", ".cjs", "/index.js", ".py", "/__main__.py", "/__init__.py", ".rb", ".pm"];
/// Files that shells run when they start, in the home directory.
const STARTUP_FILES: [&str; 7] =
    [".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshenv", ".zshrc", ".kshrc"];

/// The interpreter of this name, with or without a version and a machine.
fn find(name: &str) -> Option<&'static InterpreterSpec> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let stem = name.find(|c: char| c.is_ascii_digit()).map_or(plain, |at| &name[..at]);
    INTERPRETERS.iter().find(|known| [name, plain, stem].iter().any(|name| has_word(known.names, name)))
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
        let (letters, start) = shell_options(call);
        let has = |wanted: char| letters.contains(wanted);
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
        if has('i') || has('l') || call.has_arg("--login") {
            self.run_startup_files(dialect, call, state);
        }
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
            None if call.has_arg("--version --help") => {}
            script => self.code_from_input(
                Language::Shell(dialect),
                script.is_some_and(|s| is_descriptor(s.as_str())),
                call,
                state,
            ),
        }
        Flow::either(state.clone())
    }

    /// Runs the startup files that this line has written.
    fn run_startup_files(&mut self, dialect: Dialect, call: &NamedCommand<'_>, state: &Rc<State>) {
        if state.files.is_empty() {
            return;
        }
        let in_home = |home: &PartialWord| STARTUP_FILES.map(|name| format!("{}/{name}", home.as_str()));
        let files: Vec<String> = self.lookup("HOME", state).iter().flat_map(in_home).collect();
        let named = self.lookup("ENV", state);
        for file in files.iter().map(String::as_str).chain(named.iter().map(PartialWord::as_str)) {
            if let Some(place) = self.resolve_one(file, state).filter(|_| !file.is_empty()) {
                self.run_file(&place, Language::Shell(dialect), state, call);
            }
        }
    }

    fn language(&mut self, known: &InterpreterSpec, call: &NamedCommand<'_>, state: &Rc<State>) {
        let mut args = call.args.iter();
        let (mut inline, mut script) = (false, false);
        // Whether the next word may be the value of an option that is not known.
        let mut may_be_value = false;
        while let Some(arg) = args.next() {
            let text = arg.as_str();
            if let Some(long) = text.strip_prefix("--") {
                let (name, glued) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let mut value =
                    || glued.map(PartialWord::text).or_else(|| args.next().cloned()).unwrap_or_default();
                may_be_value = false;
                if has_word(known.code_long, name) {
                    self.judge_code(&value(), Language::Other, state);
                    inline = true;
                } else if has_word(PRELOADS, name) {
                    self.script_operand(&value(), call, state);
                } else if matches!(name, "version" | "help") {
                    return;
                } else {
                    may_be_value = glued.is_none() && !name.is_empty();
                }
                continue;
            }
            if text.len() < 2 || !text.starts_with('-') {
                if !inline {
                    self.script_operand(arg, call, state);
                }
                if text == "-" || !std::mem::take(&mut may_be_value) {
                    return;
                }
                script |= text.contains(['/', '.']);
                continue;
            }
            may_be_value = false;
            let text = if text == "-pe" && known.code.contains('p') { "-e" } else { text };
            let letter = text
                .char_indices()
                .skip(1)
                .find(|(_, c)| known.code.contains(*c) || known.valued.contains(*c));
            let flags = &text[..letter.map_or(text.len(), |(at, _)| at)];
            if call.name.starts_with("perl") && flags.contains('d') && !flags.contains("d:") {
                self.code_from_input(Language::Other, false, call, state);
            }
            let Some((at, letter)) = letter else {
                if matches!(text, "-V" | "-v" | "-h") {
                    return;
                }
                continue;
            };
            let glued = &text[at + letter.len_utf8()..];
            // `node -p` prints what `-e` gives, and these have no value but a joined one.
            let optional = match letter {
                'p' => args.as_slice().first().is_some_and(|next| next.as_str().starts_with('-')),
                'C' => call.name.starts_with("perl"),
                'i' | 'x' => true,
                _ => false,
            };
            if glued.is_empty() && optional {
                continue;
            }
            let joined = (!glued.is_empty()).then(|| PartialWord::text(glued));
            let value = joined.or_else(|| args.next().cloned()).unwrap_or_default();
            match letter {
                letter if known.code.contains(letter) => {
                    self.judge_code(&value, Language::Other, state);
                    inline = true;
                    if letter == 'c' {
                        return;
                    }
                }
                'm' if call.name.starts_with("py") => {
                    let rest: Vec<PartialWord> = std::iter::once(value).chain(args.cloned()).collect();
                    return self.python_module(&rest, call, state);
                }
                'M' | 'm' if call.name.starts_with("perl") => {
                    self.judge_code(&value, Language::Other, state);
                    let module = value.as_str().split(['=', ';', ' ']).next().unwrap_or_default();
                    self.run_module(&module.replace("::", "/"), call, state);
                }
                'r' => self.script_operand(&value, call, state),
                'f' => return self.script_operand(&value, call, state),
                _ => {}
            }
        }
        if !inline && !script {
            self.code_from_input(Language::Other, false, call, state);
        }
    }

    /// `python -m MODULE`.
    fn python_module(&mut self, words: &[PartialWord], call: &NamedCommand<'_>, state: &Rc<State>) {
        let Some((module, args)) = words.split_first() else { return };
        let name = module.as_str();
        if matches!(name, "timeit" | "pdb" | "code" | "doctest") {
            args.iter().for_each(|code| self.judge_code(code, Language::Other, state));
        }
        if matches!(name, "code" | "asyncio" | "pdb" | "idlelib" | "IPython") {
            self.code_from_input(Language::Other, false, call, state);
        }
        if matches!(name, "pip" | "pip3") {
            self.run_words(words, call.input, state);
        }
        if has_word("cProfile profile trace pdb runpy coverage", name) && !args.is_empty() {
            let python = PartialWord::text(call.name);
            let argv: Vec<PartialWord> = std::iter::once(python).chain(args.iter().cloned()).collect();
            self.run_words(&argv, call.input, state);
        }
        // A package is run before its modules, and a script may be an argument.
        for (at, _) in name.match_indices('.').chain([(name.len(), "")]) {
            self.run_module(&name[..at].replace('.', "/"), call, state);
        }
        for script in args.iter().filter(|arg| arg.as_str().ends_with(".py")) {
            self.run_module(script.as_str(), call, state);
        }
    }

    /// A module that this line may have written.
    pub(super) fn run_module(&mut self, name: &str, call: &NamedCommand<'_>, state: &Rc<State>) {
        if let Some(place) = self.resolve_one(name, state) {
            self.run_script(&place, call, state);
        }
    }

    fn run_script(&mut self, place: &CleanPath, call: &NamedCommand<'_>, state: &Rc<State>) {
        let ends = if state.files.is_empty() { &SCRIPT_ENDS[..1] } else { SCRIPT_ENDS };
        for end in ends {
            let mut name = place.as_path().as_os_str().to_owned();
            name.push(end);
            if let Some(place) = CleanPath::absolute(Path::new(&name)) {
                self.run_file(&place, Language::Other, state, call);
            }
        }
    }

    fn script_operand(&mut self, script: &PartialWord, call: &NamedCommand<'_>, state: &Rc<State>) {
        if is_stream(script.as_str()) {
            return self.code_from_input(Language::Other, is_descriptor(script.as_str()), call, state);
        }
        self.judge_unknown_script(script, call, state);
        for place in self.judge_path(script.as_str(), Access::Read, state) {
            self.run_script(&place, call, state);
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
        // What `exec` has put in place of the shell's input is read once.
        let replaced = self.replaced_input.take();
        let input = match call.input {
            Input::Inherited => replaced.clone().unwrap_or(Input::Inherited),
            input => input.clone(),
        };
        let is_script = matches!(language, Language::Shell(_));
        let outer = std::mem::replace(&mut self.script_is_input, is_script);
        match &input {
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
        self.replaced_input = replaced;
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
        let known = self.context.file_system.kind(place) != FileKind::Missing;
        let content = |place| if known { state.files.get(place) } else { state.content(place) };
        match content(place).or_else(|| content(&landed)) {
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
                if matches!(call.name, "sed" | "gsed") {
                    return self.judge_sed_script(code, call, state);
                }
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

/// The letters of a shell's options, and where its operands begin. `-` and `--` end them. Every `o`
/// takes a word of its own, wherever in a cluster it is, and `+x`, which switches an option off, is
/// an option too.
fn shell_options(call: &NamedCommand<'_>) -> (String, usize) {
    let (mut letters, mut at) = (String::new(), 0);
    while let Some(arg) = call.args.get(at).map(PartialWord::as_str) {
        if matches!(arg, "-" | "--") {
            return (letters, at + 1);
        }
        let Some(cluster) = arg.strip_prefix(['-', '+']) else { break };
        let values = match cluster.strip_prefix('-') {
            Some(long) => usize::from(has_word("rcfile init-file init-command command", long)),
            None if call.name == "pwsh" => 0,
            None => {
                letters.push_str(cluster);
                cluster.matches(['o', 'O']).count()
            }
        };
        at += 1 + values;
    }
    (letters, at)
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
