//! Where a word leads, and whether the agent may access it.
//!
//! A path is resolved component by component, as the kernel does it: `..` leaves the directory that
//! a link leads to, not the one in the text. Links that this line creates count like existing ones.
//! A path is allowed only if every place it can lead to is allowed.

use super::context::Resolved;
use super::finding::{Finding, Kind, Remedy};
use super::glob;
use super::interpreter::Interpreter;
use super::partial_word::{ANYTHING, DOWNLOADED, INSIDE, NAME, PartialWord, is_marked, render_marks};
use super::programs::has_word;
use super::state::{ShellDir, State};
use crate::credentials::holds_credentials;
use crate::intent::{Access, LinkOwner};
use crate::path::CleanPath;
use crate::policy::Reach;
use std::path::{Path, PathBuf};

/// Pseudo-devices that are always allowed.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// Block devices whose names continue with a letter.
const LETTERED: &[&str] = &["sd", "hd", "vd", "xvd"];
/// Block devices whose names continue with a digit.
const NUMBERED: &[&str] = &["nvme", "mmcblk", "loop", "dm-", "md", "sr", "nbd"];
/// Entries of `/dev` that are disks or memory by another name.
const BLOCK_NAMES: &[&str] = &["disk", "mapper", "block", "mem", "kmem", "port"];
/// Places for temporary files, and the terminal.
const TEMPORARY: &str = "/tmp /var/tmp /dev/shm /dev/tty";
/// Homes, accounts, what services keep while they run, and memory; credentials are known by their
/// names.
const PRIVATE: &str =
    "/home /root /Users /etc/passwd /etc/passwd- /etc/group /etc/group- /run /var/run /proc/kcore";
/// What a process may know of another: no memory, arguments, environment or open files.
const PROCESS_FACTS: &str = "status stat statm limits cgroup maps smaps mounts mountinfo mountstats io comm sched \
    schedstat oom_score wchan task fd ns uid_map gid_map loginuid";
/// Toolchains, beneath the home directory.
const TOOLCHAINS: &str = ".cargo/bin .rustup/toolchains .nvm/versions .pyenv/versions .local/bin go/bin";
/// Longest pattern for one name; names have at most 255 bytes.
const MAX_PATTERN_LEN: usize = 256;
/// Maximum number of places of one pattern that are followed one by one.
const MAX_PLACES: usize = 64;

impl Interpreter<'_> {
    /// Judges a path in a word, and returns the places that it names.
    pub(super) fn judge_path(&mut self, text: &str, access: Access, state: &State) -> Vec<CleanPath> {
        if text.is_empty() || !self.count_step() {
            return Vec::new();
        }
        if is_marked(text) && text.split('/').any(|part| part.len() > MAX_PATTERN_LEN) {
            self.unknown_path(text);
            return Vec::new();
        }
        if text.contains([ANYTHING, DOWNLOADED]) {
            self.judge_partial_path(text, access, state);
            return Vec::new();
        }
        self.count_bytes(text.len() * state.cwd.len());
        let climbs = !text.starts_with('/') && leaves_base(text);
        let mut all = Vec::new();
        for place in state.cwd.iter() {
            if text.contains("..") && !state.relocated.is_empty() {
                self.unknown_path(text);
            }
            // A directory that was moved has another parent.
            if climbs
                && state.moved
                && !matches!(place, ShellDir::At(dir) if self.context.zones.workspace.contains(dir))
            {
                self.unknown_path(text);
            }
            let base = match place {
                _ if text.starts_with('/') => CleanPath::absolute(Path::new("/")),
                ShellDir::At(cwd) => Some(cwd.clone()),
                ShellDir::Within if !leaves_base(text) => continue,
                ShellDir::Within | ShellDir::Unknown => None,
            };
            let Some(base) = base else {
                self.unknown_path(text);
                continue;
            };
            for place in self.resolve_text(text, &base, state) {
                // What cannot be parsed as a path is not allowed.
                let Some(asked) = CleanPath::absolute(&place) else {
                    self.report_outside(text, "no-path", "it is longer than a path can be", Remedy::None);
                    continue;
                };
                self.judge_place(text, &asked, access, state);
                all.push(asked);
            }
        }
        all.dedup();
        all
    }

    /// Judges a program that is named by a path.
    pub(super) fn judge_program(&mut self, name: &str, state: &State) -> Vec<CleanPath> {
        let known =
            CleanPath::absolute(Path::new(name)).is_some_and(|path| self.context.file_system.on_path(&path));
        if known { Vec::new() } else { self.judge_path(name, Access::Read, state) }
    }

    /// A path with a gap: its known part may be outside already.
    fn judge_partial_path(&mut self, text: &str, access: Access, state: &State) {
        let known = text.split([ANYTHING, DOWNLOADED]).next().unwrap_or_default();
        if let Some((dir, _)) = known.rsplit_once('/')
            && known.starts_with('/')
        {
            let dir = if dir.is_empty() { "/" } else { dir };
            let asked = CleanPath::absolute(Path::new(&render_marks(dir)));
            let above =
                |asked: &CleanPath| self.context.zones.workspace.iter().any(|ws| ws.below(asked).is_some());
            if let Some(asked) = asked
                && !above(&asked)
            {
                self.judge_place(text, &asked, access, state);
            }
        }
        self.unknown_path(text);
    }

    pub(super) fn unknown_path(&mut self, text: &str) {
        if self.context.reach != Reach::Workspace || self.context.confinement.holds_paths() {
            return;
        }
        let why = "where this path leads is only known when it runs, and no cage holds it";
        self.report_outside(text, "unknown-path", why, Remedy::Cage);
    }

    /// Every place that a text can name, with links before a `..` resolved.
    fn resolve_text(&self, text: &str, base: &CleanPath, state: &State) -> Vec<PathBuf> {
        if !is_marked(text) && !text.split('/').any(|part| part == "..") {
            return vec![base.as_path().join(text.trim_start_matches('/'))];
        }
        let mut places = vec![base.as_path().to_owned()];
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            self.count_entries(places.len());
            if self.is_spent() {
                break;
            }
            if part == ".." {
                places.iter_mut().for_each(|place| self.go_up(place, state));
            } else if is_marked(part) {
                places = self.expand_pattern(part, places, state);
            } else {
                places.iter_mut().for_each(|place| place.push(part));
            }
        }
        places
    }

    fn go_up(&self, place: &mut PathBuf, state: &State) {
        if let Some(clean) = CleanPath::absolute(place) {
            *place = self.resolve_path(&clean, state).path.as_path().to_owned();
        }
        place.pop();
    }

    /// The matches of a pattern: existing names, the pattern itself, and `..` if it can match that.
    fn expand_pattern(&self, part: &str, places: Vec<PathBuf>, state: &State) -> Vec<PathBuf> {
        let mut next = Vec::new();
        let pattern = glob::Pattern::new(part);
        for place in places {
            // Every place is looked up and listed.
            if !self.count_step() {
                break;
            }
            if glob::can_match_parent(part) {
                let mut up = place.clone();
                self.go_up(&mut up, state);
                next.push(up);
            }
            let gap = part.contains([NAME, INSIDE]);
            let dir = CleanPath::absolute(&place).map(|clean| self.resolve_path(&clean, state).path);
            let here = dir.filter(|dir| !gap && self.context.zones.in_workspace(dir).is_some());
            let made = state.links.keys().chain(state.files.keys());
            let made = made.filter(|link| link.as_path().parent() == Some(&place));
            let names: Vec<String> =
                here.and_then(|dir| self.context.file_system.entries(&dir)).unwrap_or_default();
            let made = made.filter_map(|link| Some(link.as_path().file_name()?.to_str()?.to_owned()));
            self.count_bytes(names.len() * part.len());
            next.extend(
                names
                    .into_iter()
                    .chain(made)
                    .filter(|name| !self.is_spent() && pattern.matches(name))
                    .map(|name| place.join(name)),
            );
            next.push(place.join(render_marks(part)));
        }
        if next.len() > MAX_PLACES {
            // Too many to follow: links among them are left to the kernel's confinement, the
            // directory itself is judged.
            next.truncate(MAX_PLACES);
        }
        next
    }

    /// Where a path leads, through existing links and links that the line creates.
    pub(super) fn resolve_path(&self, path: &CleanPath, state: &State) -> Resolved {
        if state.links.is_empty() {
            return self.context.file_system.resolve(path);
        }
        let mut path = path.clone();
        for _ in 0..8 {
            let link =
                state.links.iter().find_map(|(at, to)| path.below(at).map(|rest| to.as_path().join(rest)));
            match link.as_deref().and_then(CleanPath::absolute) {
                Some(next) if next != path => path = next,
                _ => break,
            }
        }
        self.context.file_system.resolve(&path)
    }

    /// Judges one place.
    fn judge_place(&mut self, text: &str, asked: &CleanPath, access: Access, state: &State) {
        let name = asked.as_path().to_str().unwrap_or_default();
        if DEVICES.contains(&name) || is_descriptor(name) {
            return;
        }
        let landed = self.resolve_path(asked, state);
        if access == Access::Write && (is_block_device(asked) || is_block_device(&landed.path)) {
            let why = "writing to a disk device destroys what is on it";
            return self.report_danger("block-device", why, text);
        }
        if access == Access::Write && name == "/proc/sysrq-trigger" {
            return self.report_danger("power", "the kernel restarts or halts the machine", text);
        }
        if state.relocated.iter().any(|at| asked.below(at).is_some()) {
            return self.unknown_path(text);
        }
        let zones = self.context.zones;
        let held = |path: &CleanPath| zones.is_protected(path, access) && !self.is_opened(path, access);
        if held(asked) || held(&landed.path) {
            let why = "it belongs to the instance, to another agent or to a process";
            return self.report_outside(text, "protected", why, Remedy::None);
        }
        if self.context.reach != Reach::Workspace || self.is_own(&landed.path) {
            return;
        }
        if self.is_allowed_outside(asked, &landed, access) {
            return;
        }
        let why = if asked == &landed.path {
            "it lies outside the workspace"
        } else {
            "a link leads out of the workspace"
        };
        self.report_outside(text, "workspace", why, Finding::path_remedy(asked, &landed.path, access));
    }

    /// Whether commands may name what the kernel confines anyway: the system's own files.
    pub(super) fn is_walled(&self) -> bool {
        self.guard.is_smart() && self.context.confinement.holds_paths()
    }

    /// Whether a place belongs to the command: the workspace, or where the kernel holds it its own
    /// home without places of credentials.
    fn is_own(&self, path: &CleanPath) -> bool {
        let beneath = |own: &CleanPath| path.below(own).is_some_and(|rest| !holds_credentials(rest));
        self.context.zones.in_workspace(path).is_some()
            || self.is_walled() && self.context.own.iter().any(beneath)
    }

    /// Whether something Protected is open to the command all the same: its own home, or a fact
    /// about a process.
    fn is_opened(&self, path: &CleanPath, access: Access) -> bool {
        let parts: Vec<&str> = path.as_path().iter().skip(1).filter_map(|part| part.to_str()).collect();
        let is_fact = match parts[..] {
            ["proc", _] => true,
            ["proc", _, name] => has_word(PROCESS_FACTS, name),
            _ => false,
        };
        is_fact && access != Access::Write && self.is_walled()
            || self.context.zones.in_workspace(path).is_none() && self.is_own(path)
    }

    /// Whether a place is the system's, and nothing is kept there that not every program may read:
    /// the kernel shows no more of it than that.
    fn is_public(&self, path: &CleanPath, access: Access) -> bool {
        let beneath = |trees: &str, base: &Path| {
            let inside = |tree: &str| {
                CleanPath::absolute(&base.join(tree)).is_some_and(|tree| path.below(&tree).is_some())
            };
            trees.split_whitespace().any(inside)
        };
        let toolchain = |home: &CleanPath| beneath(TOOLCHAINS, home.as_path());
        let private = || {
            beneath(PRIVATE, Path::new("/"))
                || self.context.home.is_some_and(|home| path.below(home).is_some())
                || is_block_device(path)
                || holds_credentials(path.as_path())
        };
        beneath(TEMPORARY, Path::new("/"))
            || (access != Access::Write && (self.context.home.is_some_and(toolchain) || !private()))
    }

    /// Whether a configured rule, the kernel's confinement, or the `PATH`, allows a place outside.
    fn is_allowed_outside(&self, asked: &CleanPath, landed: &Resolved, access: Access) -> bool {
        let own = self.is_own(asked);
        let led = self.is_public(&landed.path, access) || !own && landed.links == LinkOwner::System;
        if self.is_walled() && led && (own || self.is_public(asked, access)) {
            return true;
        }
        let rules = match access {
            Access::Write => self.context.write_rules,
            Access::Read | Access::List => self.context.read_rules,
        };
        let named = rules.matching(asked.as_path()).is_some();
        let direct = asked == &landed.path || landed.links == LinkOwner::System;
        (named && (direct || rules.matching(landed.path.as_path()).is_some()))
            || (access != Access::Write && self.context.file_system.on_path(asked))
    }

    pub(super) fn report_outside(&mut self, text: &str, rule: &str, why: &str, remedy: Remedy) {
        self.report(Finding::new(Kind::PathOutside, rule, why, render_marks(text), remedy));
    }

    /// Judges every path that an argument can contain: itself, and what follows `=`, `@`, `:` and
    /// `file:`.
    pub(super) fn judge_argument(&mut self, word: &str, access: Access, state: &State) {
        if word.is_empty() || self.judge_url(word, access, state) {
            return;
        }
        // A prefix that the program removes: `@file`, `+file`, `%file`.
        let bare = word.trim_start_matches(['@', '+', '%', '^', '<', '>', '!']);
        if bare.len() < word.len() && (word.starts_with('@') || looks_like_path(bare)) {
            return self.judge_argument(bare, access, state);
        }
        self.judge_path(word, access, state);
        if let Some((_, file)) = word.split_once("@/") {
            self.judge_path(&format!("/{file}"), access, state);
        }
        if let Some((_, value)) = word.split_once('=')
            && !word.starts_with('/')
        {
            self.judge_argument(&self.expand_home(value, state), access, state);
        }
        for (at, _) in word.match_indices([':', ',']) {
            let rest = &word[at + 1..];
            let rest = rest.split([':', ',']).next().unwrap_or_default();
            if looks_like_path(rest) && !rest.starts_with("//") {
                self.judge_path(&self.expand_home(rest, state), access, state);
            }
        }
    }

    /// `~/x` where not the shell but the program expands it.
    pub(super) fn expand_home(&self, value: &str, state: &State) -> String {
        match value.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.lookup("HOME", state);
                format!("{}{rest}", home.first().map_or("", PartialWord::as_str))
            }
            _ => value.to_owned(),
        }
    }

    /// URLs: `file:` names a file, other schemes do not.
    fn judge_url(&mut self, word: &str, access: Access, state: &State) -> bool {
        let Some((scheme, rest)) = word.split_once(':') else { return false };
        if scheme.eq_ignore_ascii_case("file") && rest.starts_with('/') {
            let path =
                rest.strip_prefix("//").map_or(rest, |after| after.find('/').map_or("/", |at| &after[at..]));
            self.judge_path(path, access, state);
            return true;
        }
        let name = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
        name && rest.starts_with("//") && !rest.starts_with("///")
    }
}

/// Whether a text begins as only a path begins.
fn looks_like_path(text: &str) -> bool {
    text.starts_with('/') || text.starts_with("../") || text.starts_with("~/") || text == ".."
}

/// Whether a relative path leaves its base directory, as text.
fn leaves_base(text: &str) -> bool {
    text.split('/').any(|part| part == ".." || (is_marked(part) && glob::can_match_parent(part)))
}

fn is_descriptor(name: &str) -> bool {
    name.strip_prefix("/dev/fd/")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

fn is_block_device(path: &CleanPath) -> bool {
    let Some(name) = path.as_path().to_str().and_then(|path| path.strip_prefix("/dev/")) else {
        return false;
    };
    if name.contains(['*', '?', '[']) {
        return true;
    }
    let first = name.split('/').next().unwrap_or_default();
    let goes_on = |prefix: &&str, follows: fn(&char) -> bool| {
        name.strip_prefix(*prefix).is_some_and(|rest| rest.chars().next().as_ref().is_some_and(follows))
    };
    BLOCK_NAMES.contains(&first)
        || LETTERED.iter().any(|prefix| goes_on(prefix, char::is_ascii_lowercase))
        || NUMBERED.iter().any(|prefix| goes_on(prefix, char::is_ascii_digit))
}
