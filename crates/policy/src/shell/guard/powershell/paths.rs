//! Where a line for PowerShell may lead: its paths, and its working directories.

use super::super::context::GuardContext;
use super::super::finding::Remedy;
use super::super::interpreter::Interpreter;
use super::super::programs::has_word;
use super::listed::{self, Listed, Takes};
use super::programs;
use super::words::Words;
use crate::path::CleanPath;
use crate::path_rules::PathRules;
use crate::policy::Reach;
use crate::windows_path;
use std::path::Path;

/// How many working directories are followed.
const MAX_PLACES: usize = 8;

/// Where a line runs, as folded Windows paths.
pub(super) struct Places {
    /// Every working directory that is possible: a change of it may fail.
    cwds: Vec<String>,
    workspace: Vec<String>,
    protected: Vec<String>,
}

/// What a command does with a path.
#[derive(Clone, Copy)]
struct Use {
    reads: bool,
    /// Whether it takes all that is below.
    is_deep: bool,
}

impl Places {
    /// Where `/` alone begins a path, it becomes one of the drive `C:`, so that the rules run
    /// anywhere.
    pub(super) fn of(context: &GuardContext<'_>) -> Option<Self> {
        let fold = |path: &CleanPath| windows_path::fold(&path.to_string(), Some(r"C:\")).ok();
        let all = |paths: &[CleanPath]| paths.iter().map(fold).collect::<Option<Vec<_>>>();
        Some(Self {
            cwds: vec![fold(context.cwd)?],
            workspace: all(&context.zones.workspace)?,
            protected: all(&context.zones.protected.trees)?,
        })
    }

    /// Where a path lies, from each working directory.
    fn fold(&self, path: &str) -> Option<Vec<String>> {
        self.cwds.iter().map(|cwd| windows_path::fold(path, Some(cwd)).ok()).collect()
    }

    fn in_workspace(&self, path: &str) -> bool {
        self.workspace.iter().any(|tree| windows_path::below(path, tree).is_some())
    }

    /// The directories that are protected for a path. As in [`Zones`](crate::Zones): in the
    /// workspace, only what is protected inside it counts.
    fn protected_for<'p>(&'p self, path: &str) -> impl Iterator<Item = &'p String> {
        let is_inside = self.in_workspace(path);
        self.protected.iter().filter(move |tree| !is_inside || self.in_workspace(tree))
    }

    fn is_protected(&self, path: &str) -> bool {
        self.protected_for(path).any(|tree| windows_path::below(path, tree).is_some())
    }

    /// Whether something protected lies below a directory.
    fn holds_protected(&self, dir: &str) -> bool {
        self.protected_for(dir).any(|tree| windows_path::below(tree, dir).is_some())
    }

    /// Whether a pattern in a directory may match something protected.
    fn matches_protected(&self, dir: &str, pattern: &str) -> bool {
        self.protected_for(dir)
            .filter_map(|tree| windows_path::below(tree, dir))
            .any(|name| !name.contains('\\') && may_match(pattern, name))
    }
}

impl Interpreter<'_> {
    /// Every word that may be a path. A name with a directory or extension is not that of a cmdlet.
    pub(super) fn check_paths(&mut self, name: &str, args: &[String], command: &Words, places: &Places) {
        let writes = Use { reads: false, is_deep: false };
        for target in command.targets.iter().filter(|target| !target.eq_ignore_ascii_case("nul")) {
            self.check_path(target, writes, places);
        }
        if name.contains(['\\', '/', ':']) {
            self.check_path(name, writes, places);
        }
        let listed = listed::find(name);
        let takes = listed.map(|listed| listed.takes);
        if takes == Some(Takes::Text) {
            return;
        }
        let has_switches = listed.is_some_and(Listed::has_switches);
        if has_switches && !args.iter().all(|arg| arg.is_ascii()) {
            return self
                .report_not_understood("a character that a program may get as another", &command.text);
        }
        let reads = takes == Some(Takes::Reads) || has_word(programs::READERS, name);
        let is_deep = match takes {
            Some(Takes::Writes) => !has_word(programs::MOVES, name),
            _ => reads && (has_word("rg tree", name) || args.iter().any(|arg| may_recurse(arg))),
        };
        let used = Use { reads: reads && command.targets.is_empty(), is_deep };
        if reads && is_deep {
            self.check_path(".", used, places);
        }
        for (at, word) in args.iter().enumerate() {
            if has_switches && listed::is_switch(word) {
                // Other values are lists of files and directories.
                if word.contains(':') && !word.to_ascii_lowercase().starts_with("/c:") {
                    let why = "it names files or directories in a list";
                    self.report_outside(word, "workspace", why, Remedy::Ask);
                }
                continue;
            }
            let is_no_path = match name {
                "git" => is_git_text(args, at),
                "go" => word == "./...",
                _ => false,
            };
            if is_no_path {
                continue;
            }
            // A cmdlet takes all of a word for the path, a tool what follows an option.
            for part in listed.map(|_| word.as_str()).into_iter().chain(word.split(['=', ','])) {
                let has_colons = has_word(programs::WITH_COLONS, name);
                // `file.py::test` and `module::name` name a file at most before the colons.
                let part = if has_colons { part.split("::").next().unwrap_or(part) } else { part };
                if !(has_colons && has_no_drive(part) || is_address(part)) {
                    self.check_path(part, used, places);
                }
            }
        }
    }

    /// Follows `cd`: it may fail, so that the directories before stay possible.
    pub(super) fn change_directory(&mut self, args: &[String], command: &Words, places: &mut Places) {
        let mut dirs = args.iter().filter(|arg| !arg.starts_with(['-', '+'])).peekable();
        // `cd` alone may go home.
        let mut is_known = dirs.peek().is_some();
        for dir in dirs {
            match places.fold(dir) {
                Some(folded) => places.cwds.extend(folded),
                None => is_known = false,
            }
        }
        places.cwds.sort();
        places.cwds.dedup();
        if !is_known || places.cwds.len() > MAX_PLACES {
            places.cwds.truncate(MAX_PLACES);
            self.report_outside(&command.text, "workspace", "it leaves the workspace", Remedy::Ask);
        }
    }

    fn check_path(&mut self, word: &str, used: Use, places: &Places) {
        if !self.count_step() {
            return;
        }
        let path = match path_in(word) {
            Some("") | None => return,
            Some(path) => path,
        };
        match self.place(path, used, places) {
            Ok(folded) if !used.reads && folded.iter().any(|path| is_of_git(path)) => {
                self.report_danger("protected-file", "git obeys or runs what is in its directory", word);
            }
            Ok(_) => {}
            Err(why) => self.report_outside(word, "workspace", why, Remedy::Ask),
        }
    }

    /// Where a path may lie, or why it is not open to the command.
    fn place(&self, path: &str, used: Use, places: &Places) -> Result<Vec<String>, &'static str> {
        if path.starts_with('~') {
            return Err("it lies in the home directory");
        }
        let (dir, last) = path.rsplit_once(['\\', '/']).unwrap_or(("", path));
        let is_pattern = last.contains(is_wild);
        if dir.contains(is_wild) {
            return Err("a wildcard stands for directories");
        }
        if is_pattern && (last.starts_with(['.', '?', '[']) || last.contains('~')) {
            return Err("the wildcard may match two dots or a short name");
        }
        // A pattern stays in its directory; its place is that of a plain name.
        let plain: String = path.chars().map(|c| if is_wild(c) { 'x' } else { c }).collect();
        let folded = places.fold(&plain).ok_or("its spelling does not say where it lies")?;
        for path in &folded {
            let dir = if is_pattern { path.rsplit_once('\\').map_or("", |(dir, _)| dir) } else { path };
            if is_pattern && (places.matches_protected(dir, last) || (!used.reads && may_match(last, ".git")))
            {
                return Err("the wildcard may match a protected directory");
            }
            if used.is_deep && places.holds_protected(dir) {
                return Err("a protected directory lies below it");
            }
            let resolved = CleanPath::absolute(Path::new(path))
                .map(|path| self.context.file_system.resolve(&path).path.to_string());
            if !self.is_open(path, used, places)
                || resolved.is_some_and(|path| !self.is_open(&path, used, places))
            {
                return Err("it lies outside the workspace");
            }
        }
        Ok(folded)
    }

    fn is_open(&self, path: &str, used: Use, places: &Places) -> bool {
        let matches = |rules: &PathRules| rules.matching(path.as_ref()).is_some();
        let is_reachable = self.context.reach != Reach::Workspace
            || places.in_workspace(path)
            || matches(self.context.write_rules)
            || (used.reads && matches(self.context.read_rules));
        is_reachable && !places.is_protected(path)
    }
}

fn is_wild(c: char) -> bool {
    "*?[]".contains(c)
}

/// Whether a name may match a pattern, by what is before the first and behind the last wildcard.
fn may_match(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (windows_path::case_key(pattern), windows_path::case_key(name));
    let start = pattern.split(is_wild).next().unwrap_or_default();
    let end = pattern.rsplit(is_wild).next().unwrap_or_default();
    name.starts_with(start) && name.ends_with(end)
}

fn is_of_git(path: &str) -> bool {
    path.split('\\').any(|name| windows_path::case_key(name) == ".GIT")
}

/// Whether an option may make a command that reads go down: `-Recurse`, `-s`, `-Depth`, `/s`.
fn may_recurse(arg: &str) -> bool {
    let arg = arg.to_ascii_lowercase();
    ["-r", "-s", "-d", "/"].iter().any(|start| arg.starts_with(start))
}

/// Whether an argument of git is a message, or a commit such as `HEAD~1`, which is no short name.
fn is_git_text(args: &[String], at: usize) -> bool {
    let verb = args.iter().find(|arg| *arg != "--no-pager").map_or("", String::as_str);
    let option = at.checked_sub(1).map_or("", |before| args[before].as_str());
    let count = args[at].strip_prefix("HEAD~");
    (has_word("commit tag merge stash", verb) && has_word("-m -am --message", option))
        || count.is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The part of a word that can be a path: the value of `-Path:value`, and what follows the letter
/// of `-Ivalue`.
fn path_in(word: &str) -> Option<&str> {
    let Some(option) = word.strip_prefix('-') else { return Some(word) };
    match option.split_once(':') {
        Some((_, value)) => Some(value),
        None if option.contains(['\\', '/']) || option.contains("..") => {
            let mut rest = option.trim_start_matches('-').chars();
            rest.next();
            Some(rest.as_str())
        }
        None => None,
    }
}

/// Whether a word is an address. With two dots, Windows would take it for a path.
fn is_address(word: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && !word.contains('\\')
            && !word.contains("..")
    })
}

/// Whether a word has a colon that is not that of a drive, as in `build:web` or `HEAD:notes.txt`.
fn has_no_drive(word: &str) -> bool {
    word.split_once(':').is_some_and(|(before, rest)| {
        before.len() > 1
            && !before.contains(['\\', '/', '.'])
            && !rest.contains([':', '\\'])
            && !rest.starts_with('/')
            && !rest.split('/').any(|name| name == "..")
    })
}
