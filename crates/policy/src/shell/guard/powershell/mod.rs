//! Lines for PowerShell, in which `cmd` lines are written too: the documented Windows patterns, rules
//! by name, and paths.
//!
//! There is no parser. A line is split into plain words; what is not made of such words is not
//! understood, and `strict` allows only programs from a list.

mod programs;
mod words;

use super::context::GuardContext;
use super::finding::Remedy;
use super::interpreter::{Input, Interpreter};
use super::options::NamedCommand;
use super::partial_word::PartialWord;
use super::programs::has_word;
use crate::path::CleanPath;
use crate::path_rules::PathRules;
use crate::policy::Reach;
use crate::shell::MAX_TEXT_LEN;
use crate::windows_path;
use regex::{RegexSet, RegexSetBuilder};
use std::path::Path;
use std::sync::OnceLock;
use words::Words;

/// Ways to hide what a line says, matched against its lower-cased text.
const PATTERNS: &[&str] = &[
    r"\[(?:\w+\.)*text\.encoding\]",
    r"\s[-/]e(?:c|n|nc|nco|ncod|ncode|ncoded[a-z]*)?(?:$|[\s:])",
    r"\.getstring\s*\(\s*\[byte\[\]",
    r"frombase64string\s*\(",
    r"\$[a-z_]\w*\s*=\s*\[byte\[\]",
    r"\\u[0-9a-f]{4}",
];

/// Where a line runs, as folded Windows paths.
struct Places {
    cwd: String,
    workspace: Vec<String>,
    protected: Vec<String>,
}

impl Places {
    /// Where `/` alone begins a path, it becomes one of the drive `C:`, so that the rules run anywhere.
    fn of(context: &GuardContext<'_>) -> Option<Self> {
        let fold = |path: &CleanPath| windows_path::fold(&path.to_string(), Some(r"C:\")).ok();
        let all = |paths: &[CleanPath]| paths.iter().map(fold).collect::<Option<Vec<_>>>();
        Some(Self {
            cwd: fold(context.cwd)?,
            workspace: all(&context.zones.workspace)?,
            protected: all(&context.zones.protected.trees)?,
        })
    }

    fn in_workspace(&self, path: &str) -> bool {
        self.workspace.iter().any(|tree| windows_path::below(path, tree).is_some())
    }

    /// As in [`Zones`](crate::Zones): in the workspace, only what is protected inside it counts.
    fn is_protected(&self, path: &str) -> bool {
        let is_inside = self.in_workspace(path);
        self.protected
            .iter()
            .any(|tree| windows_path::below(path, tree).is_some() && (!is_inside || self.in_workspace(tree)))
    }
}

impl Interpreter<'_> {
    /// Judges a line for PowerShell.
    pub(super) fn powershell(&mut self, text: &str) {
        let Some(places) = Places::of(self.context) else {
            return self.report_not_understood("the workspace has no Windows path", text);
        };
        if let Some(pattern) = hidden(text) {
            self.report_danger(
                &format!("deny_patterns:{pattern}"),
                "a documented pattern matches the text",
                text,
            );
        }
        if text.len() > MAX_TEXT_LEN {
            return self.report_not_understood("the line is too long", "");
        }
        match words::split(text) {
            Ok(commands) => commands.iter().for_each(|command| self.powershell_command(command, &places)),
            Err(what) => self.report_not_understood(what, text),
        }
    }

    fn powershell_command(&mut self, command: &Words, places: &Places) {
        let Some((first, args)) = command.words.split_first() else {
            if !command.targets.is_empty() {
                self.report_not_understood("a redirection without a command", &command.text);
            }
            return;
        };
        self.lifted = self.guard.allows(&command.text);
        let name = programs::base_name(first);
        self.check_name(&name, args, command);
        let words: Vec<PartialWord> = args.iter().map(|word| PartialWord::text(word.as_str())).collect();
        let call = NamedCommand { name: &name, args: &words, input: &Input::Inherited, argv: &words };
        self.check_rules(&call, &Remedy::Ask);
        self.lifted = false;

        let is_external = has_word(programs::EXTERNAL, &name);
        let is_nothing = |target: &&str| target.eq_ignore_ascii_case("nul");
        let targets = command.targets.iter().map(String::as_str);
        let mut paths: Vec<&str> = targets.filter(|target| !is_nothing(target)).collect();
        if first.contains(['\\', '/', ':']) {
            paths.push(first);
        }
        for word in args {
            if is_switch(word) && has_word(programs::WITH_SWITCHES, &name) {
                paths.extend(word.split_once(':').map(|(_, value)| value));
                continue;
            }
            let parts = word.split(['=', ',']).filter(|part| !is_address(part));
            paths.extend(parts.filter(|part| !(is_external && has_no_drive(part))));
        }
        let reads = has_word(programs::READERS, &name) && command.targets.is_empty();
        for path in paths {
            self.check_path(path, reads, places);
        }
    }

    /// The rules that are about the name of a program.
    fn check_name(&mut self, name: &str, args: &[String], command: &Words) {
        if let Some((rule, why)) = programs::danger(name, args) {
            self.report_danger(rule, why, &command.text);
        } else if programs::runs_inline_code(name, args) {
            self.report_not_understood("code that is no file", &command.text);
        } else if !self.guard.is_smart() && !programs::is_plain(name, args) {
            let why = "`strict` allows programs from a list alone on Windows";
            self.report_danger_with("unlisted-program", why, &command.text, Remedy::Smart);
        }
        // `cd..` and `cd\` are functions of PowerShell, and `cd` alone may go home.
        let first = command.words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        let leaves = ["cd.", r"cd\", "cd/"].iter().any(|start| first.starts_with(start));
        let goes_home = || !args.iter().any(|arg| !arg.starts_with(['-', '+']));
        if leaves || (has_word(programs::MOVES, name) && goes_home()) {
            self.report_outside(&command.text, "workspace", "it leaves the workspace", Remedy::Ask);
        }
    }

    fn check_path(&mut self, word: &str, reads: bool, places: &Places) {
        let path = match path_in(word) {
            Some("") | None => return,
            Some(path) => path,
        };
        match self.place(path, reads, places) {
            Ok(folded) if !reads && folded.split('\\').any(|name| name.eq_ignore_ascii_case(".git")) => {
                self.report_danger("protected-file", "git obeys or runs what is in its directory", word);
            }
            Ok(_) => {}
            Err(why) => self.report_outside(word, "workspace", why, Remedy::Ask),
        }
    }

    /// The path in its one spelling, or why it is not open to the command.
    fn place(&self, path: &str, reads: bool, places: &Places) -> Result<String, &'static str> {
        if path.starts_with('~') {
            return Err("it lies in the home directory");
        }
        let is_wild = |c: char| "*?[]".contains(c);
        if path.split(['\\', '/']).any(|name| name.starts_with(['.', '?', '[']) && name.contains(is_wild)) {
            return Err("the wildcard may match two dots");
        }
        // Other wildcards stay in their directory; their place is that of a plain name.
        let plain: String = path.chars().map(|c| if is_wild(c) { 'x' } else { c }).collect();
        let folded = windows_path::fold(&plain, Some(&places.cwd))
            .map_err(|_| "its spelling does not say where it lies")?;
        let resolved = CleanPath::absolute(Path::new(&folded))
            .map(|path| self.context.file_system.resolve(&path).path.to_string());
        let is_allowed = |path: &str| {
            let matches = |rules: &PathRules| rules.matching(path.as_ref()).is_some();
            let is_open = self.context.reach != Reach::Workspace
                || places.in_workspace(path)
                || matches(self.context.write_rules)
                || (reads && matches(self.context.read_rules));
            is_open && !places.is_protected(path)
        };
        if !is_allowed(&folded) || resolved.is_some_and(|path| !is_allowed(&path)) {
            return Err("it lies outside the workspace");
        }
        Ok(folded)
    }
}

/// The part of a word that can be a path: the value of `-Path:value`, and what follows the letter of
/// `-Ivalue`.
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

/// `/s` or `/t:value`: an option, not a path.
fn is_switch(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    name.strip_prefix('/').is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '?'))
}

fn is_address(word: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && !word.contains('\\')
    })
}

/// Whether a word of a program that is no cmdlet has a colon that is not that of a drive, as in
/// `build:web` or `HEAD:notes.txt`: no other program knows the drives of PowerShell.
fn has_no_drive(word: &str) -> bool {
    let is_path_of_code = || word.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    match word.split_once(':') {
        None => false,
        Some(_) if word.contains("::") => is_path_of_code(),
        Some((before, rest)) => {
            before.len() > 1
                && !before.contains(['\\', '/', '.'])
                && !rest.contains([':', '\\'])
                && !rest.starts_with('/')
                && !rest.split('/').any(|name| name == "..")
        }
    }
}

/// The first pattern that matches.
fn hidden(text: &str) -> Option<&'static str> {
    static SET: OnceLock<Option<RegexSet>> = OnceLock::new();
    match SET.get_or_init(|| RegexSetBuilder::new(PATTERNS).build().ok()) {
        Some(set) => set.matches(&text.to_lowercase()).iter().next().and_then(|at| PATTERNS.get(at).copied()),
        // The patterns are constants; without them everything matches.
        None => PATTERNS.first().copied(),
    }
}
