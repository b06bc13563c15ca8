//! Where a word leads, and whether the agent may go there.
//!
//! A path is walked component by component, as the kernel does it: `..` leaves the place that a link leads to, not the
//! place that the text names. Links that this very line makes count like those that exist.
//!
//! Invariant: a path is fine only if every place that it can lead to is fine.

use super::context::{Confinement, Resolved};
use super::finding::{Finding, Kind, Remedy};
use super::glob;
use super::interpreter::Interpreter;
use super::partial_word::{ANYTHING, DOWNLOADED, INSIDE, NAME, PartialWord, is_marked, shown};
use super::state::{ShellDir, State};
use crate::intent::{Access, LinkOwner};
use crate::path::CleanPath;
use crate::policy::Reach;
use std::path::{Path, PathBuf};

/// Pseudo-devices that are always fine.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
/// Block devices whose names go on with a letter.
const LETTERED: &[&str] = &["sd", "hd", "vd", "xvd"];
/// Block devices whose names go on with a digit.
const NUMBERED: &[&str] = &["nvme", "mmcblk", "loop", "dm-", "md", "sr", "nbd"];
/// Directories and files of `/dev` that are disks or memory by another name.
const BLOCK_NAMES: &[&str] = &["disk", "mapper", "block", "mem", "kmem", "port"];
/// The longest pattern for one name; names are no longer than 255 bytes.
const LONGEST_PATTERN: usize = 1024;
/// More places than this that one pattern leads to are not followed one by one.
const MOST_PLACES: usize = 64;

impl Interpreter<'_> {
    /// Judges a path in a word, and says which places it names.
    pub(super) fn path(&mut self, text: &str, access: Access, state: &State) -> Vec<CleanPath> {
        if text.is_empty() || !self.spend() {
            return Vec::new();
        }
        if is_marked(text) && text.split('/').any(|part| part.len() > LONGEST_PATTERN) {
            self.unknown_path(text);
            return Vec::new();
        }
        if text.contains([ANYTHING, DOWNLOADED]) {
            self.open_path(text, access, state);
            return Vec::new();
        }
        let mut all = Vec::new();
        for place in state.cwd.iter() {
            let base = match place {
                _ if text.starts_with('/') => CleanPath::absolute(Path::new("/")),
                ShellDir::At(cwd) => Some(cwd.clone()),
                ShellDir::Within if !climbs(text) => continue,
                ShellDir::Within | ShellDir::Unknown => None,
            };
            let Some(base) = base else {
                self.unknown_path(text);
                continue;
            };
            for place in self.places(text, &base, state) {
                // What is no path as far as anybody can tell is not let through.
                let Some(asked) = CleanPath::absolute(&place) else {
                    self.outside(text, "no-path", "it is longer than a path can be", Remedy::None);
                    continue;
                };
                self.place(text, &asked, access, state);
                all.push(asked);
            }
        }
        all.dedup();
        all
    }

    /// Judges the program that a command names by a path.
    pub(super) fn program(&mut self, name: &str, state: &State) -> Vec<CleanPath> {
        let known =
            CleanPath::absolute(Path::new(name)).is_some_and(|path| self.scene.file_system.on_path(&path));
        if known { Vec::new() } else { self.path(name, Access::Read, state) }
    }

    /// A path with a gap in it: what is known of it may already be outside.
    fn open_path(&mut self, text: &str, access: Access, state: &State) {
        let known = text.split([ANYTHING, DOWNLOADED]).next().unwrap_or_default();
        if let Some((dir, _)) = known.rsplit_once('/')
            && known.starts_with('/')
        {
            let dir = if dir.is_empty() { "/" } else { dir };
            let asked = CleanPath::absolute(Path::new(&shown(dir)));
            let above =
                |asked: &CleanPath| self.scene.zones.workspace.iter().any(|ws| ws.below(asked).is_some());
            if let Some(asked) = asked
                && !above(&asked)
            {
                self.place(text, &asked, access, state);
            }
        }
        self.unknown_path(text);
    }

    pub(super) fn unknown_path(&mut self, text: &str) {
        if self.scene.reach != Reach::Workspace || self.scene.confinement == Confinement::Cage {
            return;
        }
        self.report(Finding {
            kind: Kind::PathOutside,
            rule: "unknown-path".to_owned(),
            why: "where this path leads is only known when it runs, and no cage holds it".to_owned(),
            words: shown(text),
            remedy: Remedy::Cage,
        });
    }

    /// Every place that a text can name, links on the way to a `..` followed.
    fn places(&self, text: &str, base: &CleanPath, state: &State) -> Vec<PathBuf> {
        if !is_marked(text) && !text.split('/').any(|part| part == "..") {
            return vec![base.as_path().join(text.trim_start_matches('/'))];
        }
        let mut places = vec![base.as_path().to_owned()];
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                places.iter_mut().for_each(|place| self.climb(place, state));
            } else if is_marked(part) {
                places = self.matched(part, places, state);
            } else {
                places.iter_mut().for_each(|place| place.push(part));
            }
        }
        places
    }

    fn climb(&self, place: &mut PathBuf, state: &State) {
        if let Some(clean) = CleanPath::absolute(place) {
            *place = self.landed(&clean, state).path.as_path().to_owned();
        }
        place.pop();
    }

    /// What a pattern stands for: the names that it matches now, the pattern itself, and `..` where it can be that.
    fn matched(&self, part: &str, places: Vec<PathBuf>, state: &State) -> Vec<PathBuf> {
        let mut next = Vec::new();
        for place in places {
            if glob::can_climb(part) {
                let mut up = place.clone();
                self.climb(&mut up, state);
                next.push(up);
            }
            let gap = part.contains([NAME, INSIDE]);
            let dir = CleanPath::absolute(&place).map(|clean| self.landed(&clean, state).path);
            let here = dir.filter(|dir| !gap && self.scene.zones.in_workspace(dir).is_some());
            let made = state.links.keys().filter(|link| link.as_path().parent() == Some(&place));
            let names: Vec<String> =
                here.and_then(|dir| self.scene.file_system.entries(&dir)).unwrap_or_default();
            let made = made.filter_map(|link| Some(link.as_path().file_name()?.to_str()?.to_owned()));
            next.extend(
                names
                    .into_iter()
                    .chain(made)
                    .filter(|name| glob::matches(part, name))
                    .map(|name| place.join(name)),
            );
            next.push(place.join(shown(part)));
        }
        if next.len() > MOST_PLACES {
            // Too many to follow: links among them are the kernel's to confinement, the directory itself is judged.
            next.truncate(MOST_PLACES);
        }
        next
    }

    /// Where a path leads, through links that exist and links that the line makes.
    pub(super) fn landed(&self, path: &CleanPath, state: &State) -> Resolved {
        if state.links.is_empty() {
            return self.scene.file_system.resolve(path);
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
        self.scene.file_system.resolve(&path)
    }

    /// Judges one place.
    fn place(&mut self, text: &str, asked: &CleanPath, access: Access, state: &State) {
        let name = asked.as_path().to_str().unwrap_or_default();
        if DEVICES.contains(&name) || is_descriptor(name) {
            return;
        }
        let landed = self.landed(asked, state);
        if access == Access::Write && (is_block_device(asked) || is_block_device(&landed.path)) {
            return self.deny("block-device", "writing to a disk device destroys what is on it", text);
        }
        if access == Access::Write && name == "/proc/sysrq-trigger" {
            return self.deny("power", "the kernel restarts or halts the machine", text);
        }
        let zones = self.scene.zones;
        if zones.is_protected(asked, access) || zones.is_protected(&landed.path, access) {
            return self.outside(
                text,
                "protected",
                "it belongs to the instance, to another agent or to a process",
                Remedy::None,
            );
        }
        if self.scene.reach != Reach::Workspace || zones.in_workspace(&landed.path).is_some() {
            return;
        }
        if self.opened(asked, &landed, access) {
            return;
        }
        let why = if asked == &landed.path {
            "it lies outside the workspace"
        } else {
            "a link leads out of the workspace"
        };
        self.outside(text, "workspace", why, Finding::path_remedy(asked, &landed.path, access));
    }

    /// Whether a rule of the configuration, or the `PATH`, opens a place outside.
    fn opened(&self, asked: &CleanPath, landed: &Resolved, access: Access) -> bool {
        let rules = match access {
            Access::Write => self.scene.write_rules,
            Access::Read | Access::List => self.scene.read_rules,
        };
        let named = rules.matching(asked.as_path()).is_some();
        let direct = asked == &landed.path || landed.links == LinkOwner::System;
        (named && (direct || rules.matching(landed.path.as_path()).is_some()))
            || (access != Access::Write && self.scene.file_system.on_path(asked))
    }

    fn outside(&mut self, text: &str, rule: &str, why: &str, remedy: Remedy) {
        self.report(Finding {
            kind: Kind::PathOutside,
            rule: rule.to_owned(),
            why: why.to_owned(),
            words: shown(text),
            remedy,
        });
    }

    /// Judges every path that an argument can confinement: itself, and what stands behind `=`, `@`, `:` and `file:`.
    pub(super) fn argument(&mut self, word: &str, access: Access, state: &State) {
        if word.is_empty() || self.scheme(word, access, state) {
            return;
        }
        // A prefix that the program takes off again: `@file`, `+file`, `%file`.
        let bare = word.trim_start_matches(['@', '+', '%', '^', '<', '>', '!']);
        if bare.len() < word.len() && (word.starts_with('@') || is_placed(bare)) {
            return self.argument(bare, access, state);
        }
        self.path(word, access, state);
        if let Some((_, file)) = word.split_once("@/") {
            self.path(&format!("/{file}"), access, state);
        }
        if let Some((_, value)) = word.split_once('=')
            && !word.starts_with('/')
        {
            self.argument(&self.home_in(value, state), access, state);
        }
        for (at, _) in word.match_indices([':', ',']) {
            let rest = &word[at + 1..];
            let rest = rest.split([':', ',']).next().unwrap_or_default();
            if is_placed(rest) && !rest.starts_with("//") {
                self.path(&self.home_in(rest, state), access, state);
            }
        }
    }

    /// `~/x` where the shell leaves it alone and the program expands it.
    pub(super) fn home_in(&self, value: &str, state: &State) -> String {
        match value.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.lookup("HOME", state);
                format!("{}{rest}", home.first().map_or("", PartialWord::as_str))
            }
            _ => value.to_owned(),
        }
    }

    /// URLs: `file:` names a file, the others name none.
    fn scheme(&mut self, word: &str, access: Access, state: &State) -> bool {
        let Some((scheme, rest)) = word.split_once(':') else { return false };
        if scheme.eq_ignore_ascii_case("file") && rest.starts_with('/') {
            let path =
                rest.strip_prefix("//").map_or(rest, |after| after.find('/').map_or("/", |at| &after[at..]));
            self.path(path, access, state);
            return true;
        }
        let name = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
        name && rest.starts_with("//") && !rest.starts_with("///")
    }
}

/// Whether a text begins where only a path begins.
fn is_placed(text: &str) -> bool {
    text.starts_with('/') || text.starts_with("../") || text.starts_with("~/") || text == ".."
}

/// Whether a relative path leaves the directory it starts in, as text.
fn climbs(text: &str) -> bool {
    text.split('/').any(|part| part == ".." || (is_marked(part) && glob::can_climb(part)))
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
