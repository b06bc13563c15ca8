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
    /// Its permissions.
    mode: u16,
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

/// Whether a path is absolute, and made of names with one slash before each.
fn is_plain(path: &[u8]) -> bool {
    let Some(names) = path.strip_prefix(b"/") else { return false };
    let mut before = b'/';
    for byte in names {
        // Hardly any name begins with a dot, and those are looked at again.
        if before == b'/' && matches!(byte, b'/' | b'.') {
            return !names.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b".."));
        }
        before = *byte;
    }
    before != b'/' || names.is_empty()
}

/// A plain path's directory and its last name; `None` for the top.
fn apart(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    let name = path.get(slash + 1..)?;
    if name.is_empty() { None } else { Some((path.get(..slash.max(1))?, name)) }
}

/// A number for a path, eight bytes at a time. Nobody gains anything by two paths with the same one.
fn hash(path: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = path.as_chunks();
    let mut hash = path.len() as u64;
    for word in words {
        hash = (hash.rotate_left(23) ^ u64::from_ne_bytes(*word)).wrapping_mul(FACTOR);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(FACTOR);
    }
    (hash >> 32) as u32
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
        let at = self.add(b"/", hash(b"/"));
        let identity = Identity { device: 0, inode: 0 };
        let look = Look { identity, kind: Kind::Directory, hold: Hold::Others, mode: 0, version: NONE };
        self.set(at, Answer::There(look));
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
        let Some(at) = self.place_of(path)? else { return Ok(None) };
        let resolved = Path::new(OsStr::from_bytes(self.text_of(at))).to_owned();
        Ok(self.look_at(at).map(|look| Found { resolved, kind: look.kind }))
    }

    /// What kind of thing `path` leads to.
    pub(super) fn kind(&mut self, path: &Path) -> Result<Option<Kind>, Roundabout> {
        let at = self.place_of(path)?;
        Ok(at.and_then(|at| self.look_at(at)).map(|look| look.kind))
    }

    /// Who lies at `path` without any link on the way, where nobody but the administrator could have put it, or a link,
    /// there meanwhile.
    pub(super) fn identity(&mut self, path: &Path) -> Option<Identity> {
        let path = path.as_os_str().as_bytes();
        let at = self.known(path, hash(path)).filter(|at| *at != TOP)?;
        let look = self.look_at(at)?;
        let mut above = apart(path)?.0;
        // Directly at the top the last look was the only one.
        while above.len() > 1 {
            let held = self.look_at(self.known(above, hash(above))?)?.hold;
            if held != Hold::Administrator || self.hold_of_top() != Hold::Administrator {
                return None;
            }
            above = apart(above)?.0;
        }
        Some(look.identity)
    }

    /// Which version of a small public file was seen at `path`.
    pub(super) fn version(&self, path: &Path) -> Option<Version> {
        let path = path.as_os_str().as_bytes();
        let look = self.look_at(self.known(path, hash(path))?)?;
        self.versions.get(look.version as usize).copied()
    }

    /// The permissions of what `path` leads to.
    pub(super) fn mode(&mut self, path: &Path) -> Option<u16> {
        let at = self.place_of(path).ok()?.filter(|at| *at != TOP)?;
        Some(self.look_at(at)?.mode)
    }

    fn hold_of_top(&mut self) -> Hold {
        let look = || statat(CWD, c"/", AtFlags::SYMLINK_NOFOLLOW).map_or(Hold::Others, |top| Hold::of(&top));
        *self.top.get_or_insert_with(look)
    }

    /// The spot that somebody's path leads to. What is known is plain.
    fn place_of(&mut self, path: &Path) -> Result<Option<u32>, Roundabout> {
        let path = path.as_os_str().as_bytes();
        let hash = hash(path);
        let at = match self.known(path, hash) {
            Some(at) => at,
            None if is_plain(path) => self.add(path, hash),
            None => return Err(Roundabout),
        };
        Ok(self.led(at, path, LINKS))
    }

    /// The spot that a plain path leads to.
    fn place(&mut self, path: &[u8], links: u32) -> Option<u32> {
        let hash = hash(path);
        let at = self.known(path, hash).unwrap_or_else(|| self.add(path, hash));
        self.led(at, path, links)
    }

    fn led(&mut self, at: u32, path: &[u8], links: u32) -> Option<u32> {
        let answer = match self.answer_of(at) {
            Answer::Unasked => self.ask(at, path, links),
            known => known,
        };
        match answer {
            Answer::Unasked | Answer::Nothing => None,
            Answer::Leads(to) => Some(to),
            Answer::There(_) => Some(at),
        }
    }

    fn ask(&mut self, at: u32, path: &[u8], links: u32) -> Answer {
        let answer = self.answer(at, path, links).unwrap_or(Answer::Nothing);
        // Nothing at the end of many links may be something at the end of fewer.
        if links == LINKS || !matches!(answer, Answer::Nothing) {
            self.set(at, answer);
        }
        answer
    }

    fn answer(&mut self, at: u32, path: &[u8], links: u32) -> Option<Answer> {
        let (directory, name) = apart(path)?;
        let above = self.place(directory, links)?;
        if self.look_at(above)?.kind != Kind::Directory {
            return None;
        }
        if self.text_of(above) != directory {
            let real = joined(self.text_of(above), name);
            return Some(Answer::Leads(self.place(&real, links)?));
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
        Some(Answer::There(Look {
            identity,
            kind,
            hold: Hold::of(&stat),
            mode: (stat.st_mode & 0o7777) as u16,
            version,
        }))
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
            here = self.place(&next, links)?;
        }
        // What is named with a slash or a dot at its end is a directory, or nothing.
        let only_directory = to.ends_with(b"/") || to.ends_with(b"/.");
        (self.look_at(here)?.kind == Kind::Directory || !only_directory).then_some(here)
    }

    fn known(&self, path: &[u8], hash: u32) -> Option<u32> {
        let mut at = *self.latest.get(hash as usize % BUCKETS)?;
        while let Some(spot) = self.spots.get(at as usize) {
            if spot.hash == hash && self.text_of(at) == path {
                return Some(at);
            }
            at = spot.before;
        }
        None
    }

    fn add(&mut self, path: &[u8], hash: u32) -> u32 {
        let (at, start, length) = (self.spots.len() as u32, self.text.len() as u32, path.len() as u32);
        self.text.extend_from_slice(path);
        self.text.push(0);
        let mut before = at;
        if let Some(latest) = self.latest.get_mut(hash as usize % BUCKETS) {
            std::mem::swap(latest, &mut before);
        }
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
