//! What a survey remembers: paths by their bytes, and what each of them leads to.
//!
//! A start asks some hundred and fifty times for some hundred paths. They lie in one text, each is read once when it is asked
//! for, and what is known of a directory is known for everything in it.
//!
//! Invariant: a spot that is *there* was reached without links by its own text; every other path leads to one of those, or
//! nowhere.

use crate::isolate::host::{Found, Kind};
use crate::isolate::layout::Version;
use picoclaw_sys::linux::mount::Identity;
use rustix::fs::{AtFlags, CWD, FileType, Stat, readlinkat_raw, statat};
use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// As many links as the kernel follows for one path.
pub(super) const LINKS: u32 = 40;

/// The longest text of a link, and a byte to tell that it ended.
const LINK_BYTES: usize = 4097;

const BUCKETS: usize = 128;
const NONE: u32 = u32::MAX;
/// The top is the first spot.
const TOP: u32 = 0;

/// All that was looked up.
#[derive(Debug)]
pub(super) struct Seen {
    /// Every path, one after the other, each with a NUL at its end.
    text: Vec<u8>,
    spots: Vec<Spot>,
    versions: Vec<Version>,
    /// The latest spot of each bucket.
    latest: [u32; BUCKETS],
    /// Whether the top is its owner's alone, once that was asked.
    top: Option<Hold>,
}

/// One path.
#[derive(Debug)]
struct Spot {
    hash: u32,
    /// The one before it in its bucket.
    before: u32,
    start: u32,
    length: u32,
    answer: Answer,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Unasked,
    Nothing,
    /// To another spot, which is there.
    Leads(u32),
    There(Look),
}

/// What a look at something told.
#[derive(Debug, Clone, Copy)]
struct Look {
    identity: Identity,
    kind: Kind,
    hold: Hold,
    /// Of a small public file: which of the versions.
    version: u32,
}

/// Who can put something else into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The system's administrator, and nobody else.
    Administrator,
    Others,
}

impl Hold {
    /// An access list does not hide anybody: its mask stands in the group's bits.
    fn of(stat: &Stat) -> Self {
        if stat.st_uid == 0 && stat.st_mode & 0o022 == 0 { Self::Administrator } else { Self::Others }
    }
}

/// A path that is absolute and made of names with one slash before each, read once.
struct Plain<'p> {
    path: &'p [u8],
    hash: u32,
    /// Where its last name's slash is.
    slash: usize,
}

impl<'p> Plain<'p> {
    /// `None` for a path with dots or slashes to spare.
    fn read(path: &'p [u8]) -> Option<Self> {
        const BASIS: u32 = 0x811c_9dc5;
        const PRIME: u32 = 0x0100_0193;
        let (mut hash, mut slash) = (BASIS, 0);
        if path.first() != Some(&b'/') {
            return None;
        }
        for (at, byte) in path.iter().enumerate() {
            if *byte == b'/' && at > 0 {
                if !is_name(path.get(slash + 1..at)?) {
                    return None;
                }
                slash = at;
            }
            hash = (hash ^ u32::from(*byte)).wrapping_mul(PRIME);
        }
        (path.len() == 1 || is_name(path.get(slash + 1..)?)).then_some(Self { path, hash, slash })
    }

    /// The directory it is in, and its last name; `None` for the top.
    fn apart(&self) -> Option<(&'p [u8], &'p [u8])> {
        if self.path.len() == 1 {
            return None;
        }
        Some((self.path.get(..self.slash.max(1))?, self.path.get(self.slash + 1..)?))
    }
}

fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..")
}

impl Default for Seen {
    fn default() -> Self {
        // As many as a start asks for, so that none is moved.
        let mut seen = Self {
            text: Vec::with_capacity(3800),
            spots: Vec::with_capacity(112),
            versions: Vec::with_capacity(20),
            latest: [NONE; BUCKETS],
            top: None,
        };
        seen.clear();
        seen
    }
}

impl Seen {
    /// Forgets everything but the top.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.spots.clear();
        self.versions.clear();
        self.latest = [NONE; BUCKETS];
        self.top = None;
        if let Some(top) = Plain::read(b"/") {
            let at = self.add(&top);
            let identity = Identity { device: 0, inode: 0 };
            let look = Look { identity, kind: Kind::Directory, hold: Hold::Others, version: NONE };
            self.set(at, Answer::There(look));
        }
    }

    /// Forgets what was not there.
    pub(super) fn clear_missing(&mut self) {
        for spot in &mut self.spots {
            if matches!(spot.answer, Answer::Nothing) {
                spot.answer = Answer::Unasked;
            }
        }
    }

    /// What `path` leads to; an error for one that must be taken apart by the kernel.
    pub(super) fn find(&mut self, path: &Path) -> Result<Option<Found>, Roundabout> {
        let plain = Plain::read(path.as_os_str().as_bytes()).ok_or(Roundabout)?;
        let Some(at) = self.place(&plain, LINKS) else { return Ok(None) };
        let resolved = Path::new(OsStr::from_bytes(self.text_of(at))).to_owned();
        Ok(self.look_at(at).map(|look| Found { resolved, kind: look.kind }))
    }

    /// Who lies at `path` without any link on the way, where nobody but the administrator could have put it, or a link,
    /// there meanwhile.
    pub(super) fn identity(&mut self, path: &Path) -> Option<Identity> {
        let plain = Plain::read(path.as_os_str().as_bytes())?;
        let at = self.known(&plain).filter(|at| *at != TOP)?;
        let look = self.look_at(at)?;
        let mut above = plain.apart()?.0;
        // Directly at the top the last look was the only one.
        while above.len() > 1 {
            let directory = Plain::read(above)?;
            let held = self.look_at(self.known(&directory)?)?.hold;
            if held != Hold::Administrator || self.hold_of_top() != Hold::Administrator {
                return None;
            }
            above = directory.apart()?.0;
        }
        Some(look.identity)
    }

    /// Which version of a small public file was seen at `path`.
    pub(super) fn version(&self, path: &Path) -> Option<Version> {
        let at = self.known(&Plain::read(path.as_os_str().as_bytes())?)?;
        self.versions.get(self.look_at(at)?.version as usize).copied()
    }

    fn hold_of_top(&mut self) -> Hold {
        let look = || statat(CWD, c"/", AtFlags::SYMLINK_NOFOLLOW).map_or(Hold::Others, |top| Hold::of(&top));
        *self.top.get_or_insert_with(look)
    }

    /// The spot that a path leads to.
    fn place(&mut self, plain: &Plain<'_>, links: u32) -> Option<u32> {
        let at = self.known(plain).unwrap_or_else(|| self.add(plain));
        let answer = match self.answer_of(at) {
            Answer::Unasked => self.ask(at, plain, links),
            known => known,
        };
        match answer {
            Answer::Unasked | Answer::Nothing => None,
            Answer::Leads(to) => Some(to),
            Answer::There(_) => Some(at),
        }
    }

    fn ask(&mut self, at: u32, plain: &Plain<'_>, links: u32) -> Answer {
        let answer = self.answer(at, plain, links).unwrap_or(Answer::Nothing);
        // Nothing at the end of many links may be something at the end of fewer.
        if links == LINKS || !matches!(answer, Answer::Nothing) {
            self.set(at, answer);
        }
        answer
    }

    fn answer(&mut self, at: u32, plain: &Plain<'_>, links: u32) -> Option<Answer> {
        let (directory, name) = plain.apart()?;
        let above = self.place(&Plain::read(directory)?, links)?;
        if self.look_at(above)?.kind != Kind::Directory {
            return None;
        }
        if self.text_of(above) != directory {
            let real = joined(self.text_of(above), name);
            return Some(Answer::Leads(self.place(&Plain::read(&real)?, links)?));
        }
        let stat = statat(CWD, self.c_text_of(at)?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                return Some(Answer::Leads(self.follow(at, above, links.checked_sub(1)?)?));
            }
            FileType::Directory => Kind::Directory,
            _ => Kind::File,
        };
        let version = Version::of(&stat).map_or(NONE, |version| {
            self.versions.push(version);
            self.versions.len() as u32 - 1
        });
        let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
        Some(Answer::There(Look { identity, kind, hold: Hold::of(&stat), version }))
    }

    /// Where the link at `link` leads, which lies in `directory`.
    fn follow(&mut self, link: u32, directory: u32, links: u32) -> Option<u32> {
        let mut buffer = [const { MaybeUninit::uninit() }; LINK_BYTES];
        let (to, rest) = readlinkat_raw(CWD, self.c_text_of(link)?, &mut buffer).ok()?;
        if rest.is_empty() {
            return None;
        }
        let mut here = directory;
        for part in Path::new(OsStr::from_bytes(to)).components() {
            let around = self.text_of(here);
            let next = match part {
                _ if self.look_at(here)?.kind != Kind::Directory => return None,
                Component::RootDir => b"/".to_vec(),
                Component::Normal(name) => joined(around, name.as_bytes()),
                Component::ParentDir => {
                    let above = around.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
                    around.get(..above.max(1))?.to_vec()
                }
                Component::CurDir | Component::Prefix(_) => continue,
            };
            here = self.place(&Plain::read(&next)?, links)?;
        }
        // What is named with a slash or a dot at its end is a directory, or nothing.
        let only_directory = to.ends_with(b"/") || to.ends_with(b"/.");
        (self.look_at(here)?.kind == Kind::Directory || !only_directory).then_some(here)
    }

    fn known(&self, plain: &Plain<'_>) -> Option<u32> {
        let mut at = *self.latest.get(plain.hash as usize % BUCKETS)?;
        while let Some(spot) = self.spots.get(at as usize) {
            if spot.hash == plain.hash && self.text_of(at) == plain.path {
                return Some(at);
            }
            at = spot.before;
        }
        None
    }

    fn add(&mut self, plain: &Plain<'_>) -> u32 {
        let (at, start) = (self.spots.len() as u32, self.text.len() as u32);
        self.text.extend_from_slice(plain.path);
        self.text.push(0);
        let mut before = at;
        if let Some(latest) = self.latest.get_mut(plain.hash as usize % BUCKETS) {
            std::mem::swap(latest, &mut before);
        }
        let (hash, length) = (plain.hash, plain.path.len() as u32);
        self.spots.push(Spot { hash, before, start, length, answer: Answer::Unasked });
        at
    }

    fn set(&mut self, at: u32, answer: Answer) {
        if let Some(spot) = self.spots.get_mut(at as usize) {
            spot.answer = answer;
        }
    }

    fn answer_of(&self, at: u32) -> Answer {
        self.spots.get(at as usize).map_or(Answer::Unasked, |spot| spot.answer)
    }

    fn look_at(&self, at: u32) -> Option<Look> {
        if let Answer::There(look) = self.answer_of(at) { Some(look) } else { None }
    }

    fn text_of(&self, at: u32) -> &[u8] {
        let spot = self.spots.get(at as usize);
        let text = spot.and_then(|spot| self.text.get(spot.start as usize..)?.get(..spot.length as usize));
        text.unwrap_or_default()
    }

    /// The same as the kernel takes it; `None` for a path with a NUL in it.
    fn c_text_of(&self, at: u32) -> Option<&CStr> {
        let spot = self.spots.get(at as usize)?;
        let text = self.text.get(spot.start as usize..)?.get(..spot.length as usize + 1)?;
        CStr::from_bytes_with_nul(text).ok()
    }
}

/// A path that is not plain.
pub(super) struct Roundabout;

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    path.extend_from_slice(directory);
    if directory.len() > 1 {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
