//! What a command leaves behind: its output, and the files, directories and links that it creates.
//!
//! The modelled output is never narrower than the real one.

use super::interpreter::{Flow, Input, Interpreter};
use super::interpreters::is_stream;
use super::options::{Item, NamedCommand};
use super::partial_word::{ANYTHING, DOWNLOADED, INSIDE, NAME, PartialWord, is_marked};
use super::programs::{self, contains_any, has_word};
use super::redirect::content_of;
use super::sed;
use super::special_tools::tar_arguments;
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
            "git" if call.has_arg("mv") => self.record_copy(call, &mut next),
            "tar" | "bsdtar" | "gtar" | "unzip" => self.record_unpacked(call, &mut next),
            "gunzip" | "bunzip2" | "unxz" | "unzstd" | "gzip" | "xz" | "bzip2" | "zstd" => {
                for (file, plain) in
                    call.operands("").iter().filter_map(|file| Some((file, file.rsplit_once('.')?.0)))
                {
                    if let Some(content) = self.content_of_file(file, call, &next) {
                        self.record_content(plain, content, &mut next);
                    }
                }
            }
            name if has_word(FETCHERS, name) => self.record_downloads(call, &mut next),
            _ => {
                let content = match call.name {
                    "touch" => Content::Known(String::new()),
                    "tee" => content_of(&output),
                    _ if downloads(call.input) => Content::Downloaded,
                    _ => Content::Computed,
                };
                for file in written_files(call) {
                    self.record_content(file, content.clone(), &mut next);
                }
            }
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

    /// What a file that the line wrote holds, or standard input by one of its names.
    fn content_of_file(&self, file: &str, call: &NamedCommand<'_>, state: &State) -> Option<Content> {
        match call.input {
            _ if !is_stream(file) => state.files.get(&self.resolve_one(file, state)?).cloned(),
            Input::Piped(text) | Input::Text(text) => Some(content_of(text)),
            Input::File(places) => places.first().and_then(|place| state.files.get(place).cloned()),
            Input::Inherited => None,
        }
    }

    /// What an archive from the network leaves has any name: its whole directory counts.
    fn record_unpacked(&self, call: &NamedCommand<'_>, state: &mut Rc<State>) {
        let unzips = call.name == "unzip";
        let program = programs::find(call.name).unwrap_or(&programs::UNKNOWN);
        let args = if unzips { call.args.to_vec() } else { tar_arguments(call.args, program) };
        let inner = NamedCommand { args: &args, ..*call };
        let grammar = "C f d x I F T X N directory file";
        let archives = if unzips { inner.operands(grammar) } else { inner.values(grammar, "f file") };
        let archive = archives.first().copied().unwrap_or("-");
        if !state.links.is_empty() {
            self.relocate(".", state);
        }
        if self.content_of_file(archive, call, state) == Some(Content::Downloaded)
            && (unzips || inner.has("C f directory file", "x extract get"))
        {
            let dir = inner.values(grammar, "C d directory").first().copied().unwrap_or(".");
            self.record_content(dir, Content::Downloaded, state);
        }
    }

    /// What is beneath this place may have come from elsewhere, links included.
    fn relocate(&self, place: &str, state: &mut Rc<State>) {
        if let Some(place) = self.resolve_one(place, state) {
            Rc::make_mut(&mut Rc::make_mut(state).relocated).insert(place);
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
        if !call.has("t S", "s symbolic") {
            return self.record_copy(call, state);
        }
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
        let grammar = "t S m o g target-directory suffix mode owner group";
        let mut sources = call.operands(grammar);
        let Some(last) =
            call.values(grammar, "t target-directory").first().copied().or_else(|| sources.pop())
        else {
            return;
        };
        for source in sources {
            if is_stream(source)
                && let Some(content) = self.content_of_file(source, call, state)
            {
                self.record_content(last, content, state);
            }
            let Some(from) = self.resolve_one(source, state) else {
                // Which files these are is not known: links may be among them.
                if !state.links.is_empty() {
                    self.relocate(last, state);
                }
                continue;
            };
            let relocates = self.may_hold_links(&from, state);
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            for to in [last.to_string(), format!("{last}/{name}")] {
                let Some(place) = self.resolve_one(&to, state) else { continue };
                let copied: Vec<_> = state
                    .files
                    .iter()
                    .filter_map(|(path, content)| {
                        let beneath = path.below(&from)?;
                        let to = CleanPath::absolute(&place.as_path().join(beneath))?;
                        Some((to, content.clone()))
                    })
                    .collect();
                if !copied.is_empty() {
                    Rc::make_mut(&mut Rc::make_mut(state).files).extend(copied);
                }
                if relocates {
                    self.relocate(&to, state);
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
            "curl" => "d F H T o u A e b c K E w X x m output output-document output-dir out header data",
            _ => "o O P U e d output output-document directory-prefix out dir header data",
        };
        let letter = if call.name == "wget" { "O" } else { "o" };
        let mut files: Vec<String> = Vec::new();
        let (letter_of_dir, name_of_dir) = match call.name {
            "curl" => (' ', "output-dir"),
            "wget" => ('P', "directory-prefix"),
            _ => ('d', "dir"),
        };
        let is_dir = |item| match item {
            Item::Short(letter, value) if letter == letter_of_dir => value,
            Item::Long(name, value) if name == name_of_dir => value,
            _ => None,
        };
        let dir = call.items(valued).into_iter().rev().find_map(is_dir).unwrap_or(".");
        for file in call.values(valued, &format!("{letter} output output-document out")) {
            // `#1` stands for a part of the address.
            let named = call.name != "curl" || !file.contains('#');
            files.push(if named { format!("{dir}/{file}") } else { dir.to_owned() });
        }
        let own_names = call.name != "curl" || call.has(valued, "O J remote-name remote-name-all");
        if own_names && files.is_empty() {
            for address in call.operands(valued) {
                let path = address.split(['?', '#']).next().unwrap_or_default();
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                files.push(format!("{dir}/{}", if name.is_empty() { "index.html" } else { name }));
                if call.name == "wget" && call.has(valued, "r x m recursive force-directories mirror") {
                    let host = path.split_once("://").map_or(path, |(_, rest)| rest);
                    files.push(format!("{dir}/{}", host.split('/').next().unwrap_or_default()));
                }
            }
        }
        for file in files {
            let at_root = file.strip_prefix("./").filter(|rest| rest.starts_with('/'));
            self.record_content(at_root.unwrap_or(&file), Content::Downloaded, state);
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

/// Whether the input comes from the network.
fn downloads(input: &Input) -> bool {
    matches!(input, Input::Piped(text) | Input::Text(text) if text.as_str().contains(DOWNLOADED))
}

/// Files that a command writes by an option, an operand or a script.
fn written_files<'c>(call: &NamedCommand<'c>) -> Vec<&'c str> {
    let args = || call.args.iter().map(PartialWord::as_str);
    match call.name {
        "mkfifo" | "tee" | "touch" => call.operands("m d t r"),
        "dd" => args().filter_map(|arg| arg.strip_prefix("of=")).collect(),
        "sort" | "shuf" | "tree" => call.values("o k S t T output", "o output"),
        "openssl" | "find" => {
            let is_written = |(option, _): &(&str, &str)| *option == "-out" || option.starts_with("-fprint");
            args().zip(args().skip(1)).filter(is_written).map(|(_, file)| file).collect()
        }
        "sed" | "gsed" => sed::scripts(call)
            .into_iter()
            .flat_map(sed::effects)
            .filter_map(|effect| if let sed::Effect::Writes(file) = effect { Some(file) } else { None })
            .collect(),
        _ => Vec::new(),
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
