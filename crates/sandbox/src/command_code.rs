//! Which words of a command name code that it would run: its program, a script, a module path, what
//! a wrapper starts. Every other argument is data, wherever it lies.

use crate::launch::find_program;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How a program finds the code that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// Starts the command that follows.
    Wrapper,
    /// Runs a script, or a text of commands.
    Shell,
    /// Runs a script or a module.
    Interpreter,
    /// Runs a package or a target, also one of its directory.
    Project,
}

const RUNNERS: &[(Runner, &[&str])] = &[
    (
        Runner::Wrapper,
        &[
            "env", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "chrt", "taskset", "time",
            "sudo", "doas", "xargs", "flock", "unshare", "strace", "busybox", "command", "exec", "builtin",
            "if", "then", "else", "elif", "do", "while", "until", "!",
        ],
    ),
    (Runner::Shell, &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"]),
    (
        Runner::Interpreter,
        &[
            ".", "source", "python", "pypy", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby",
            "perl", "php", "lua", "luajit", "tclsh", "guile", "Rscript", "pwsh", "awk", "gawk", "mawk",
        ],
    ),
    (
        Runner::Project,
        &[
            "npm", "npx", "pnpm", "pnpx", "yarn", "bunx", "uv", "uvx", "pipx", "pipenv", "poetry", "hatch",
            "pdm", "rye", "make", "gmake", "just", "rake", "bundle", "cargo", "go", "gradle", "mvn", "java",
            "dotnet",
        ],
    ),
];

/// Options whose value is code, or a directory with code.
const CODE_OPTIONS: &[&str] = &[
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--preload",
    "--import-map",
    "--config",
    "--env-file",
    "-I",
    "-M",
    "-C",
    "--directory",
    "--cwd",
    "--prefix",
    "--project",
    "--package",
    "--from",
    "--with",
    "--with-editable",
    "--editable",
    "--rcfile",
    "--init-file",
    "--manifest-path",
    "-cp",
    "-classpath",
    "--class-path",
    "--module-path",
];

/// Options whose value is the script.
const SCRIPT_OPTIONS: &[&str] = &["-jar", "-f", "--file", "--makefile", "-File"];

/// Options whose value is a text of code; what follows is data.
const TEXT_OPTIONS: &[&str] = &["-e", "-E", "--eval", "--print", "-ne", "-pe"];

/// Options with a value of no interest.
const VALUE_OPTIONS: &[&str] = &["-W", "-X", "-o", "-O", "-p", "--python", "--conditions", "--title"];

/// Options that name data although a path stands in them.
const DATA_OPTIONS: &[&str] = &["--allow-", "--deny-", "-D"];

const SUBCOMMANDS: &[&str] = &["run", "exec", "x", "dlx", "tool", "task"];

/// The code that a command would run.
#[derive(Debug, Default)]
pub(crate) struct CommandCode {
    /// Programs, scripts and directories of code.
    pub(crate) paths: Vec<PathBuf>,
    /// Texts of code.
    pub(crate) texts: Vec<String>,
    /// Variables that the command sets itself.
    pub(crate) variables: Vec<(String, String)>,
}

/// Looks a command's words up.
struct Search<'s> {
    /// Where relative paths begin.
    dir: PathBuf,
    /// The search path of programs.
    path: &'s OsStr,
    found: CommandCode,
}

impl CommandCode {
    /// The code of `words`, started in `dir` with this search path.
    pub(crate) fn of(words: &[String], dir: &Path, path: &OsStr) -> Self {
        let mut search = Search { dir: dir.to_owned(), path, found: Self::default() };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        search.command(&words);
        search.found
    }
}

impl Search<'_> {
    fn command(&mut self, words: &[&str]) {
        let Some((name, arguments)) = words.split_first() else { return };
        match find_program(OsStr::new(name), self.path, &self.dir) {
            Ok(program) => self.found.paths.push(program),
            // It may be there later. A name without a slash is never looked for in the directory.
            Err(_) if name.contains('/') => self.code(Some(name)),
            Err(_) => {}
        }
        if *name == "cd" {
            self.dir.push(arguments.first().copied().unwrap_or_default());
        }
        if let Some(runner) = runner(name) {
            self.arguments(runner, arguments);
        }
    }

    fn arguments(&mut self, runner: Runner, arguments: &[&str]) {
        if runner == Runner::Project {
            self.found.paths.push(self.dir.clone());
        }
        let (mut rest, mut has_script, mut follows_option) = (arguments, false, false);
        while let Some((word, after)) = rest.split_first() {
            let next = after.first().copied();
            if word.starts_with('-') {
                let (option, value) =
                    word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
                let is_shell_text =
                    runner == Runner::Shell && !word.starts_with("--") && option.contains('c');
                if is_shell_text {
                    return self.shell_text(after.iter().copied().find(|word| !word.starts_with('-')));
                }
                let is_python_text = runner == Runner::Interpreter && option == "-c";
                if is_python_text || TEXT_OPTIONS.contains(&option) {
                    self.found.texts.extend(value.or(next).map(str::to_owned));
                    self.found.paths.push(self.dir.clone());
                    return;
                }
                if runner == Runner::Interpreter && option == "-m" {
                    return self.found.paths.push(self.dir.clone());
                }
                let is_script = SCRIPT_OPTIONS.contains(&option);
                has_script |= is_script;
                let is_code = is_script || CODE_OPTIONS.contains(&option);
                let takes_next = value.is_none() && (is_code || VALUE_OPTIONS.contains(&option));
                if is_code {
                    self.code(value.or(next));
                } else if !DATA_OPTIONS.iter().any(|data| word.starts_with(data)) {
                    // Such as `-I/lib` and `-javaagent:/x.jar`.
                    self.code(word.find('/').map(|at| &word[at..]));
                }
                rest = if takes_next { after.get(1..).unwrap_or_default() } else { after };
                follows_option = !takes_next;
                continue;
            }
            if has_script {
                return;
            }
            match runner {
                Runner::Wrapper => match assignment(word) {
                    Some(variable) => self.found.variables.push(variable),
                    None if self.is_program(word) => return self.command(rest),
                    None => {}
                },
                _ if SUBCOMMANDS.contains(word) && !self.is_path(word) => {}
                Runner::Project if self::runner(word).is_some() => return self.command(rest),
                // The value of an option that is not known here.
                Runner::Shell | Runner::Interpreter if follows_option && !self.is_path(word) => {}
                _ => return self.code(Some(word)),
            }
            (rest, follows_option) = (after, false);
        }
    }

    /// The commands of a shell's text. What cannot be told apart is a text of code as a whole.
    fn shell_text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        if text.contains(['$', '`', '<', '\\']) {
            self.found.texts.push(text.to_owned());
        }
        for command in text.split([';', '|', '&', '\n', '(', ')', '{', '}']) {
            let words: Vec<String> =
                command.split_whitespace().map(|word| word.replace(['\'', '"'], "")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let start = words.iter().position(|word| assignment(word).is_none()).unwrap_or(words.len());
            self.found.variables.extend(words[..start].iter().filter_map(|word| assignment(word)));
            self.command(&words[start..]);
        }
    }

    fn code(&mut self, word: Option<&str>) {
        self.found.paths.extend(word.map(|word| self.dir.join(word)));
    }

    fn is_path(&self, word: &str) -> bool {
        word.contains('/') || self.dir.join(word).exists()
    }

    fn is_program(&self, word: &str) -> bool {
        word.contains('/')
            || runner(word).is_some()
            || find_program(OsStr::new(word), self.path, &self.dir).is_ok()
    }
}

/// How a program of this name finds its code; `None` when its arguments are data.
fn runner(name: &str) -> Option<Runner> {
    let file = Path::new(name).file_name().and_then(OsStr::to_str).unwrap_or(name);
    // Such as `python3.12`.
    let stem = file.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let stem = if stem.is_empty() { file } else { stem };
    RUNNERS.iter().find(|(_, names)| names.contains(&stem)).map(|(runner, _)| *runner)
}

/// The variable that a word sets.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}
