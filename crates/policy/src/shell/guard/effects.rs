//! What a command leaves behind: its output, and the files, directories and links that it creates.
//!
//! The modelled output is never narrower than the real one.

use super::interpreter::{Flow, Input, Interpreter};
use super::options::NamedCommand;
use super::partial_word::{ANYTHING, DOWNLOADED, INSIDE, NAME, PartialWord, is_marked};
use super::programs::{contains_any, has_word};
use super::redirect::content_of;
use super::state::{Content, State};
use crate::intent::FileKind;
use crate::path::CleanPath;
use std::path::Path;
use std::rc::Rc;

/// Programs that print one plain name or number.
const PLAIN: &str = "date seq wc id whoami hostname uname nproc getconf tput expr bc logname arch uuidgen pgrep pidof tty \
    cksum factor shuf openssl jq-version";
/// Programs that print lines of their input.
const FILTERS: &str = "cat sort uniq head tail grep egrep fgrep tac shuf tee";
/// Programs that download.
const FETCHERS: &str = "curl wget aria2c fetch http https xh lynx links w3m ftp axel";

/// Programs that may remove or close a directory.
const REMOVERS: &str = "rm rmdir mv chmod unlink rename chattr find rsync tar unzip";

/// Maximum number of entries of a moved directory that are looked at.
const MAX_ENTRIES: usize = 64;

impl Interpreter<'_> {
    /// The effect of a command that was judged.
    pub(super) fn apply_effects(&mut self, call: &NamedCommand<'_>, state: Rc<State>) -> Flow {
        let output = self.output_of(call, &state);
        let mut next = state.clone();
        match call.name {
            "mkdir" => self.record_mkdir(call, &mut next),
            "git" if call.has_arg("clone init") => self.record_clone(call, &mut next),
            "cargo" if call.has_arg("new init") => self.record_mkdir(call, &mut next),
            "ln" => self.record_links(call, &mut next),
            "cp" | "mv" | "install" => self.record_copy(call, &mut next),
            "mkfifo" => {
                for operand in call.operands("m") {
                    self.record_content(operand, Content::Computed, &mut next);
                }
            }
            "touch" => {
                for operand in call.operands("d t r") {
                    self.record_content(operand, Content::Known(String::new()), &mut next);
                }
            }
            "tee" => {
                let content = content_of(&output);
                for operand in call.operands("") {
                    self.record_content(operand, content.clone(), &mut next);
                }
            }
            name if has_word(FETCHERS, name) => self.record_downloads(call, &mut next),
            _ => {}
        }
        if has_word(REMOVERS, call.name)
            || (call.name == "git" && call.has_arg("checkout clean mv rm switch restore"))
        {
            let next = Rc::make_mut(&mut next);
            next.dirs_may_be_gone = true;
            next.moved |= matches!(call.name, "mv" | "rename" | "git");
        }
        let fail = match call.name {
            "true" | ":" => None,
            // `mkdir` fails on an existing directory, which exists afterwards all the same.
            "mkdir" => Some(next.clone()),
            _ if next.dirs_may_be_gone => Some(next.clone()),
            _ => Some(state),
        };
        Flow { ok: Some(next), fail, ended: None, output }
    }

    fn output_of(&self, call: &NamedCommand<'_>, state: &State) -> PartialWord {
        match call.name {
            "echo" => echo_output(call),
            "printf" => printf_output(call),
            "pwd" => self.lookup("PWD", state).into_iter().next().unwrap_or_default(),
            "which" => call.args.first().cloned().unwrap_or_default(),
            "basename" => match call.operands("").first() {
                Some(path) if !is_marked(path) => {
                    PartialWord::text(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
                }
                Some(path) if PartialWord::text(*path).is_open() => PartialWord::gap(ANYTHING),
                _ => PartialWord::gap(NAME),
            },
            "dirname" | "realpath" | "readlink" => match call.operands("").first() {
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
            "git" if call.has_arg("--show-toplevel") => self.repository_root(state),
            "git" => git_prints(call),
            "rg" | "grep" if call.has("", "l files files-with-matches") => PartialWord::gap(INSIDE),
            "stat" if call.has("", "c format") => PartialWord::gap(NAME),
            "cut" | "tr" | "awk" | "sed" => PartialWord::gap(ANYTHING),
            name if has_word(FETCHERS, name) => PartialWord::gap(DOWNLOADED),
            "date" if call.args.iter().any(|arg| arg.as_str().contains('/') || arg.is_open()) => {
                PartialWord::gap(ANYTHING)
            }
            "seq" | "wc" if call.args.iter().any(PartialWord::is_open) => PartialWord::gap(ANYTHING),
            name if has_word(PLAIN, name) => PartialWord::gap(NAME),
            name if has_word(FILTERS, name) => self.filter_output(call, state),
            _ => PartialWord::gap(ANYTHING),
        }
    }

    /// The root of the repository that the shell is in, if it lies in the workspace.
    pub(super) fn repository_root(&self, state: &State) -> PartialWord {
        let [super::state::ShellDir::At(cwd)] = state.cwd.as_slice() else {
            return PartialWord::gap(ANYTHING);
        };
        let inside = |dir: &&Path| {
            CleanPath::absolute(dir).is_some_and(|dir| self.context.zones.in_workspace(&dir).is_some())
        };
        let has_git = |dir: &&Path| {
            let git = CleanPath::absolute(&dir.join(".git"));
            git.is_some_and(|git| self.context.file_system.kind(&git) != FileKind::Missing)
        };
        let top = cwd.as_path().ancestors().take_while(inside).find(has_git);
        top.map_or(PartialWord::gap(ANYTHING), |top| PartialWord::text(top.display().to_string()))
    }

    /// The output of a filter: its input, or the files that this line has created.
    fn filter_output(&self, call: &NamedCommand<'_>, state: &State) -> PartialWord {
        let files: Vec<&str> = call.operands("n c k n m");
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
            let places: Vec<Option<CleanPath>> =
                files.iter().map(|file| self.resolve_one(file, state)).collect();
            known_content(places.iter().map(|place| state.files.get(place.as_ref()?)))
        };
        let lines = whole.as_str().trim_end_matches('\n').contains('\n');
        if lines && call.name != "cat" && call.name != "tee" { PartialWord::gap(ANYTHING) } else { whole }
    }

    /// The one path that a file name resolves to, if there is exactly one.
    pub(super) fn resolve_one(&self, file: &str, state: &State) -> Option<CleanPath> {
        let [super::state::ShellDir::At(cwd)] = state.cwd.as_slice() else { return None };
        if is_marked(file) {
            return None;
        }
        CleanPath::new(Path::new(file), cwd).ok()
    }

    fn record_content(&self, file: &str, content: Content, state: &mut Rc<State>) {
        if let Some(place) = self.resolve_one(file, state) {
            Rc::make_mut(&mut Rc::make_mut(state).files).insert(place, content);
        }
    }

    /// Directories that exist afterwards: not if a file is in the way, nor with a mode that closes
    /// them.
    fn record_mkdir(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let grammar = "m mode";
        if call.has(grammar, "m mode") {
            return;
        }
        let parents = call.has(grammar, "p parents");
        for operand in call.operands(grammar) {
            let is_dir = |dir: &CleanPath| {
                state.made.contains(dir) || self.context.file_system.kind(dir) == FileKind::Directory
            };
            let mut place = self.resolve_one(operand, state).filter(|dir| {
                let above = dir.as_path().parent().and_then(CleanPath::absolute);
                let inside = |above: &&Path| {
                    CleanPath::absolute(above)
                        .is_some_and(|above| self.context.zones.in_workspace(&above).is_some())
                };
                let in_the_way = |above: &Path| {
                    CleanPath::absolute(above).is_none_or(|above| {
                        !matches!(
                            self.context.file_system.kind(&above),
                            FileKind::Missing | FileKind::Directory
                        ) || self.resolve_path(&above, state).path != above
                            || state.files.contains_key(&above)
                    })
                };
                !dir.as_path().ancestors().take_while(inside).any(in_the_way)
                    && (parents
                        || above.is_some_and(|above| {
                            is_dir(&above) || self.context.zones.workspace.contains(&above)
                        }))
            });
            while let Some(dir) = place {
                if self.context.zones.in_workspace(&dir).is_none() {
                    break;
                }
                let parent = dir.as_path().parent().and_then(CleanPath::absolute);
                Rc::make_mut(&mut Rc::make_mut(state).made).insert(dir);
                place = parent;
            }
        }
    }

    fn record_clone(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let operands = call.operands("b c j o branch depth");
        let Some(last) = operands.get(1..).and_then(<[&str]>::last) else { return };
        let name = last.trim_end_matches('/').trim_end_matches(".git");
        let name = name.rsplit(['/', ':']).next().unwrap_or(name);
        if let Some(place) = self.resolve_one(name, state) {
            Rc::make_mut(&mut Rc::make_mut(state).made).insert(place);
        }
    }

    fn record_links(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        for (target, link) in parse_links(call) {
            let (Some(at), false) = (self.resolve_one(&link, state), is_marked(target)) else { continue };
            let dir = at.as_path().parent().and_then(CleanPath::absolute);
            let to = dir.and_then(|dir| CleanPath::new(Path::new(target), &dir).ok());
            if let Some(to) = to {
                Rc::make_mut(&mut Rc::make_mut(state).links).insert(at, to);
            }
        }
    }

    /// A copy of a file that this line created has its content, also inside a directory.
    fn record_copy(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let operands = call.operands("t S m o g");
        let Some((last, sources)) = operands.split_last() else { return };
        for source in sources {
            let Some(from) = self.resolve_one(source, state) else { continue };
            let relocates = self.may_hold_links(&from, state);
            let name = source.rsplit('/').next().unwrap_or(source);
            for to in [last.to_string(), format!("{last}/{name}")] {
                if let Some(content) = state.files.get(&from).cloned() {
                    self.record_content(&to, content, state);
                }
                if relocates && let Some(to) = self.resolve_one(&to, state) {
                    Rc::make_mut(&mut Rc::make_mut(state).relocated).insert(to);
                }
            }
        }
    }

    /// Whether a file is a link, or a directory with links: elsewhere they lead elsewhere.
    fn may_hold_links(&self, from: &CleanPath, state: &State) -> bool {
        let is_link = |path: &CleanPath| self.resolve_path(path, state).path != *path;
        let entries = self.context.file_system.entries(from).unwrap_or_default();
        let inside = |name: &String| CleanPath::new(Path::new(name), from).is_ok_and(|path| is_link(&path));
        is_link(from)
            || state.links.keys().any(|link| link.below(from).is_some())
            || entries.iter().take(MAX_ENTRIES).any(inside)
    }

    /// The files that a download saves: under the given name, or under the last part of each URL.
    fn record_downloads(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let valued = match call.name {
            "curl" => "d F H T o u A e b c K E w X x m output output-document out header data",
            _ => "o O P U e output output-document out header data",
        };
        let letter = if call.name == "wget" { "O" } else { "o" };
        let mut files = call.values(valued, &format!("{letter} output output-document out"));
        let own_names = call.name != "curl" || call.has(valued, "O J remote-name remote-name-all");
        if own_names && files.is_empty() {
            for address in call.operands(valued) {
                let path = address.split(['?', '#']).next().unwrap_or_default();
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                files.push(if name.is_empty() { "index.html" } else { name });
            }
        }
        for file in files {
            self.record_content(file, Content::Downloaded, state);
        }
    }
}

/// The links that `ln -s` creates: target and path.
pub(super) fn parse_links<'c>(call: &NamedCommand<'c>) -> Vec<(&'c str, String)> {
    let grammar = "t S target-directory suffix";
    if !call.has(grammar, "s symbolic") {
        return Vec::new();
    }
    let operands = call.operands(grammar);
    let named = |target: &str, dir: &str| {
        format!("{dir}/{}", target.trim_end_matches('/').rsplit('/').next().unwrap_or(target))
    };
    if let Some(dir) = call.values(grammar, "t target-directory").first() {
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

fn echo_output(call: &NamedCommand<'_>) -> PartialWord {
    let is_flag = |arg: &PartialWord| {
        arg.as_str().len() > 1
            && arg.as_str().starts_with('-')
            && arg.as_str()[1..].bytes().all(|b| b"neE".contains(&b))
    };
    let flags: String = call.args.iter().take_while(|arg| is_flag(arg)).map(PartialWord::as_str).collect();
    let words: Vec<&str> = call.args.iter().skip_while(|arg| is_flag(arg)).map(PartialWord::as_str).collect();
    let text = words.join(" ");
    if text.contains('\\') {
        // dash and zsh decode escapes without `-e`, bash with `shopt -s xpg_echo`.
        let decoded = if flags.contains('e') { decode_escapes(&text) } else { None };
        return decoded.map_or(PartialWord::gap(ANYTHING), PartialWord::text);
    }
    let end = if flags.contains('n') { "" } else { "\n" };
    PartialWord::text(format!("{text}{end}"))
}

fn printf_output(call: &NamedCommand<'_>) -> PartialWord {
    let [format, rest @ ..] = call.args else { return PartialWord::default() };
    let Some(format) = decode_escapes(format.as_str()) else { return PartialWord::gap(ANYTHING) };
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

/// Decodes `\n` and `\t`; `None` for any other escape.
fn decode_escapes(text: &str) -> Option<String> {
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
    let verb = call.subcommand("C c");
    let is_about_paths = |arg: &PartialWord| contains_any(arg.as_str(), "toplevel|-dir|-path|cdup|prefix");
    match verb {
        Some("rev-parse" | "rev-list" | "hash-object" | "merge-base" | "write-tree")
            if !call.args.iter().any(is_about_paths) =>
        {
            PartialWord::gap(NAME)
        }
        Some("ls-files" | "branch" | "describe" | "ls-tree") => PartialWord::gap(INSIDE),
        Some("diff" | "show" | "diff-tree" | "status") if call.has_arg("--name-only") => {
            PartialWord::gap(INSIDE)
        }
        _ => PartialWord::gap(ANYTHING),
    }
}
