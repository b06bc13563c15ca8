//! What a command leaves behind: what it prints, and which files, directories and links it makes.
//!
//! Invariant: what a command prints is at most as narrow as what it can really print.

use super::interpreter::{Flow, Input, Interpreter};
use super::options::{Grammar, NamedCommand};
use super::partial_word::{ANYTHING, DOWNLOADED, INSIDE, NAME, PartialWord, is_marked};
use super::redirect::content_of;
use super::state::{Content, State};
use crate::intent::FileKind;
use crate::path::CleanPath;
use std::path::Path;
use std::rc::Rc;

/// Programs that print one plain name or number.
const PLAIN: &[&str] = &[
    "date",
    "seq",
    "wc",
    "id",
    "whoami",
    "hostname",
    "uname",
    "nproc",
    "getconf",
    "tput",
    "expr",
    "bc",
    "logname",
    "arch",
    "uuidgen",
    "pgrep",
    "pidof",
    "tty",
    "cksum",
    "factor",
    "shuf",
    "openssl",
    "jq-version",
];
/// Programs that pass on lines of what they read.
const FILTERS: &[&str] =
    &["cat", "sort", "uniq", "head", "tail", "grep", "egrep", "fgrep", "tac", "shuf", "tee"];
/// Programs that fetch.
const FETCHERS: &[&str] =
    &["curl", "wget", "aria2c", "fetch", "http", "https", "xh", "lynx", "links", "w3m", "ftp", "axel"];

/// Programs after which a directory may be gone, or closed.
const UNMAKERS: &[&str] =
    &["rm", "rmdir", "mv", "chmod", "unlink", "rename", "chattr", "find", "rsync", "tar", "unzip"];

impl Interpreter<'_> {
    /// How a command ends, once it is judged.
    pub(super) fn effects(&mut self, call: &NamedCommand<'_>, state: Rc<State>) -> Flow {
        let output = self.printed(call, &state);
        let mut next = state.clone();
        match call.name {
            "mkdir" => self.made_dirs(call, &mut next),
            "git" if call.says(&["clone", "init"]) => self.cloned(call, &mut next),
            "cargo" if call.says(&["new", "init"]) => self.made_dirs(call, &mut next),
            "ln" => self.linked(call, &mut next),
            "cp" | "mv" | "install" => self.copied(call, &mut next),
            "mkfifo" => {
                for operand in call.operands(&Grammar { short: "m", ..Grammar::default() }) {
                    self.remember(operand, Content::Computed, &mut next);
                }
            }
            "touch" => {
                for operand in call.operands(&Grammar { short: "dtr", ..Grammar::default() }) {
                    self.remember(operand, Content::Known(String::new()), &mut next);
                }
            }
            "tee" => {
                let content = content_of(&output);
                for operand in call.operands(&Grammar::default()) {
                    self.remember(operand, content.clone(), &mut next);
                }
            }
            name if FETCHERS.contains(&name) => self.fetched(call, &mut next),
            _ => {}
        }
        if UNMAKERS.contains(&call.name)
            || (call.name == "git" && call.says(&["checkout", "clean", "mv", "rm", "switch", "restore"]))
        {
            Rc::make_mut(&mut next).shaken = true;
        }
        let fail = match call.name {
            "true" | ":" => None,
            // Whoever makes a directory that is there already fails, and it is there all the same.
            "mkdir" => Some(next.clone()),
            _ if next.shaken => Some(next.clone()),
            _ => Some(state),
        };
        Flow { ok: Some(next), fail, ended: None, output }
    }

    fn printed(&self, call: &NamedCommand<'_>, state: &State) -> PartialWord {
        let grammar = Grammar::default();
        match call.name {
            "echo" => echoed(call),
            "printf" => formatted(call),
            "pwd" => self.lookup("PWD", state).into_iter().next().unwrap_or_default(),
            "which" => call.args.first().cloned().unwrap_or_default(),
            "basename" => match call.operands(&grammar).first() {
                Some(path) if !is_marked(path) => {
                    PartialWord::text(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
                }
                Some(path) if PartialWord::text(*path).is_open() => PartialWord::gap(ANYTHING),
                _ => PartialWord::gap(NAME),
            },
            "dirname" | "realpath" | "readlink" => match call.operands(&grammar).first() {
                Some(path) if !is_marked(path) && call.name == "dirname" => PartialWord::text(
                    path.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir }),
                ),
                Some(path) if !PartialWord::text(*path).is_open() && call.name != "readlink" => {
                    match is_marked(path) {
                        true => PartialWord::gap(INSIDE),
                        false => PartialWord::text(*path),
                    }
                }
                _ => PartialWord::gap(ANYTHING),
            },
            "mktemp" => PartialWord::gap(INSIDE),
            "find" | "fd" | "fdfind" | "ls" => PartialWord::gap(INSIDE),
            "git" if call.says(&["--show-toplevel"]) => self.repository(state),
            "git" => git_prints(call),
            "rg" | "grep" if call.has(&grammar, "l", &["files", "files-with-matches"]) => {
                PartialWord::gap(INSIDE)
            }
            "stat" if call.has(&grammar, "c", &["format"]) => PartialWord::gap(NAME),
            "cut" | "tr" | "awk" | "sed" => PartialWord::gap(ANYTHING),
            name if FETCHERS.contains(&name) => PartialWord::gap(DOWNLOADED),
            "date" if call.args.iter().any(|arg| arg.as_str().contains('/') || arg.is_open()) => {
                PartialWord::gap(ANYTHING)
            }
            "seq" | "wc" if call.args.iter().any(PartialWord::is_open) => PartialWord::gap(ANYTHING),
            name if PLAIN.contains(&name) => PartialWord::gap(NAME),
            name if FILTERS.contains(&name) => self.passed_on(call, state),
            _ => PartialWord::gap(ANYTHING),
        }
    }

    /// The top of the repository that the shell is in, when the workspace holds it.
    fn repository(&self, state: &State) -> PartialWord {
        let [super::state::ShellDir::At(cwd)] = state.cwd.as_slice() else {
            return PartialWord::gap(ANYTHING);
        };
        let inside = |dir: &&Path| {
            CleanPath::absolute(dir).is_some_and(|dir| self.scene.zones.in_workspace(&dir).is_some())
        };
        let has_git = |dir: &&Path| {
            let git = CleanPath::absolute(&dir.join(".git"));
            git.is_some_and(|git| self.scene.file_system.kind(&git) != FileKind::Missing)
        };
        let top = cwd.as_path().ancestors().take_while(inside).find(has_git);
        top.map_or(PartialWord::gap(ANYTHING), |top| PartialWord::text(top.display().to_string()))
    }

    /// What a filter prints: what it reads, or the files that this line has made.
    fn passed_on(&self, call: &NamedCommand<'_>, state: &State) -> PartialWord {
        let files: Vec<&str> = call.operands(&Grammar { short: "ncknm", ..Grammar::default() });
        let files = match call.name {
            "grep" | "egrep" | "fgrep" => files.get(1..).unwrap_or_default(),
            "tee" => &[],
            _ => files.as_slice(),
        };
        let from_input = |input: &Input| match input {
            Input::Piped(field) | Input::Text(field) => field.clone(),
            Input::File(places) => known_content(places.iter().map(|place| state.files.get(place))),
            Input::Inherited => PartialWord::gap(ANYTHING),
        };
        let whole = if files.is_empty() {
            from_input(call.input)
        } else {
            let places: Vec<Option<CleanPath>> = files.iter().map(|file| self.at(file, state)).collect();
            known_content(places.iter().map(|place| state.files.get(place.as_ref()?)))
        };
        let lines = whole.as_str().trim_end_matches('\n').contains('\n');
        if lines && call.name != "cat" && call.name != "tee" { PartialWord::gap(ANYTHING) } else { whole }
    }

    /// The one place that a file name stands for, when there is one.
    fn at(&self, file: &str, state: &State) -> Option<CleanPath> {
        let [super::state::ShellDir::At(cwd)] = state.cwd.as_slice() else { return None };
        if is_marked(file) {
            return None;
        }
        CleanPath::new(Path::new(file), cwd).ok()
    }

    fn remember(&self, file: &str, content: Content, state: &mut Rc<State>) {
        if let Some(place) = self.at(file, state) {
            Rc::make_mut(&mut Rc::make_mut(state).files).insert(place, content);
        }
    }

    /// Directories that are there afterwards: not where a file is in the way, nor with a mode that closes them.
    fn made_dirs(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let grammar = Grammar { short: "m", long: &["mode"], ..Grammar::default() };
        if call.has(&grammar, "m", &["mode"]) {
            return;
        }
        let parents = call.has(&grammar, "p", &["parents"]);
        for operand in call.operands(&grammar) {
            let is_dir = |dir: &CleanPath| {
                state.made.contains(dir) || self.scene.file_system.kind(dir) == FileKind::Directory
            };
            let mut place = self.at(operand, state).filter(|dir| {
                let above = dir.as_path().parent().and_then(CleanPath::absolute);
                let blocked =
                    self.scene.file_system.kind(dir) == FileKind::Regular || state.files.contains_key(dir);
                !blocked
                    && (parents
                        || above.is_some_and(|above| {
                            is_dir(&above) || self.scene.zones.workspace.contains(&above)
                        }))
            });
            while let Some(dir) = place {
                if self.scene.zones.in_workspace(&dir).is_none() {
                    break;
                }
                let parent = dir.as_path().parent().and_then(CleanPath::absolute);
                Rc::make_mut(&mut Rc::make_mut(state).made).insert(dir);
                place = parent;
            }
        }
    }

    fn cloned(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let operands =
            call.operands(&Grammar { short: "bcjo", long: &["branch", "depth"], ..Grammar::default() });
        let Some(last) = operands.get(1..).and_then(<[&str]>::last) else { return };
        let name = last.trim_end_matches('/').trim_end_matches(".git");
        let name = name.rsplit(['/', ':']).next().unwrap_or(name);
        if let Some(place) = self.at(name, state) {
            Rc::make_mut(&mut Rc::make_mut(state).made).insert(place);
        }
    }

    fn linked(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        for (target, link) in links(call) {
            let (Some(at), false) = (self.at(&link, state), is_marked(target)) else { continue };
            let dir = at.as_path().parent().and_then(CleanPath::absolute);
            let to = dir.and_then(|dir| CleanPath::new(Path::new(target), &dir).ok());
            if let Some(to) = to {
                Rc::make_mut(&mut Rc::make_mut(state).links).insert(at, to);
            }
        }
    }

    /// A copy of a file that this line made is that file again, also inside a directory.
    fn copied(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let operands = call.operands(&Grammar { short: "tSmog", ..Grammar::default() });
        let Some((last, sources)) = operands.split_last() else { return };
        for source in sources {
            let Some(from) = self.at(source, state) else { continue };
            let name = source.rsplit('/').next().unwrap_or(source);
            for to in [last.to_string(), format!("{last}/{name}")] {
                if let Some(content) = state.files.get(&from).cloned() {
                    self.remember(&to, content, state);
                }
                if let (Some(target), Some(to)) = (state.links.get(&from).cloned(), self.at(&to, state)) {
                    Rc::make_mut(&mut Rc::make_mut(state).links).insert(to, target);
                }
            }
        }
    }

    /// The files that a fetch saves: under the name it is given, or under the last part of each address.
    fn fetched(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let grammar = Grammar {
            short: if call.name == "curl" { "dFHTouAebcKEwXxm" } else { "oOPUe" },
            long: &["output", "output-document", "out", "header", "data"],
            ..Grammar::default()
        };
        let mut files: Vec<String> = call
            .values(
                &grammar,
                if call.name == "wget" { "O" } else { "o" },
                &["output", "output-document", "out"],
            )
            .iter()
            .map(|file| (*file).to_owned())
            .collect();
        let own_names = call.name != "curl" || call.has(&grammar, "OJ", &["remote-name", "remote-name-all"]);
        if own_names && files.is_empty() {
            for address in call.operands(&grammar) {
                let path = address.split(['?', '#']).next().unwrap_or_default();
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                files.push(if name.is_empty() { "index.html".to_owned() } else { name.to_owned() });
            }
        }
        for file in files {
            self.remember(&file, Content::Downloaded, state);
        }
    }
}

/// The links that `ln -s` makes: what each leads to, and where it lies.
pub(super) fn links<'c>(call: &NamedCommand<'c>) -> Vec<(&'c str, String)> {
    let grammar = Grammar { short: "tS", long: &["target-directory", "suffix"], ..Grammar::default() };
    if !call.has(&grammar, "s", &["symbolic"]) {
        return Vec::new();
    }
    let operands = call.operands(&grammar);
    let named = |target: &str, dir: &str| {
        format!("{dir}/{}", target.trim_end_matches('/').rsplit('/').next().unwrap_or(target))
    };
    if let Some(dir) = call.values(&grammar, "t", &["target-directory"]).first() {
        return operands.iter().map(|target| (*target, named(target, dir))).collect();
    }
    match operands.as_slice() {
        [target] => vec![(target, named(target, "."))],
        [target, link] => vec![(*target, (*link).to_owned())],
        [targets @ .., dir] => targets.iter().map(|target| (*target, named(target, dir))).collect(),
        [] => Vec::new(),
    }
}

fn known_content<'f>(contents: impl Iterator<Item = Option<&'f Content>>) -> PartialWord {
    let mut text = String::new();
    for content in contents {
        match content {
            Some(Content::Known(part)) => text.push_str(part),
            Some(Content::Downloaded) => return PartialWord::gap(DOWNLOADED),
            Some(Content::Computed) | None => return PartialWord::gap(ANYTHING),
        }
    }
    PartialWord::text(text)
}

fn echoed(call: &NamedCommand<'_>) -> PartialWord {
    let is_flag = |arg: &PartialWord| {
        arg.as_str().len() > 1
            && arg.as_str().starts_with('-')
            && arg.as_str()[1..].bytes().all(|b| b"neE".contains(&b))
    };
    let flags: String = call.args.iter().take_while(|arg| is_flag(arg)).map(PartialWord::as_str).collect();
    let words: Vec<&str> = call.args.iter().skip_while(|arg| is_flag(arg)).map(PartialWord::as_str).collect();
    let text = words.join(" ");
    if flags.contains('e') && text.contains('\\') {
        return unescaped(&text).map_or(PartialWord::gap(ANYTHING), PartialWord::text);
    }
    let end = if flags.contains('n') { "" } else { "\n" };
    PartialWord::text(format!("{text}{end}"))
}

fn formatted(call: &NamedCommand<'_>) -> PartialWord {
    let [format, rest @ ..] = call.args else { return PartialWord::default() };
    let Some(format) = unescaped(format.as_str()) else { return PartialWord::gap(ANYTHING) };
    match (format.as_str(), rest) {
        (text, []) if !text.contains('%') => PartialWord::text(text.to_owned()),
        ("%s", words) => PartialWord::text(words.iter().map(PartialWord::as_str).collect::<String>()),
        ("%s\n", words) => {
            PartialWord::text(words.iter().map(|word| format!("{}\n", word.as_str())).collect::<String>())
        }
        (text, [word]) if text.matches('%').count() == 1 && text.contains("%s") => {
            PartialWord::text(text.replace("%s", word.as_str()))
        }
        _ => PartialWord::gap(ANYTHING),
    }
}

/// `\n` and `\t` read; `None` for any other escape, which nobody needs for plain text.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                '\\' => out.push('\\'),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(out)
}

fn git_prints(call: &NamedCommand<'_>) -> PartialWord {
    let verb = call.verb(&Grammar { short: "Cc", ..Grammar::default() });
    let about_paths = call.args.iter().any(|arg| {
        let arg = arg.as_str();
        arg.contains("toplevel")
            || arg.contains("-dir")
            || arg.contains("-path")
            || arg.contains("cdup")
            || arg.contains("prefix")
    });
    match verb {
        Some("rev-parse" | "rev-list" | "hash-object" | "merge-base" | "write-tree") if !about_paths => {
            PartialWord::gap(NAME)
        }
        Some("ls-files" | "branch" | "describe" | "ls-tree") => PartialWord::gap(INSIDE),
        Some("diff" | "show" | "diff-tree" | "status") if call.says(&["--name-only"]) => {
            PartialWord::gap(INSIDE)
        }
        _ => PartialWord::gap(ANYTHING),
    }
}
