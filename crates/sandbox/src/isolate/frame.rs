//! Frames: the part of a cage's file tree that is always the same, built once and kept in the instance.
//!
//! Some sixty files, links and mount points would otherwise be made anew for each child, which is a third of what its cage
//! costs. A frame lies in `cache/cages/`, where no child and no file tool reaches; a child sees it as its root, read-only.
//! Beside each frame lies a note that says what it was built of, file by file and version by version: one that says anything
//! else than what is wanted now is not used, nor is one from which somebody has taken something; whatever cannot be had here
//! is made in the child's own file system.
//!
//! Whoever uses a frame holds a shared lock on its note, and it is thrown away only under an exclusive one: to remove a
//! directory on which another namespace has mounted something would take the mount away.
//!
//! Invariant: a frame that is used was finished during this boot, and holds what its pieces say.

use crate::boot;
use crate::isolate::held::Held;
use crate::isolate::layout::Piece;
use crate::isolate::native::content;
use picoclaw_sys::linux::mount::Identity;
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, Stat, StatVfsMountFlags,
    chmodat, fchmod, fstat, fstatfs, fstatvfs, mkdirat, openat, openat2, renameat_with, statat, symlinkat,
    unlinkat,
};
use rustix::io::{Errno, Result};
use std::hash::{DefaultHasher, Hasher};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How frames and notes are written. To be changed with them: programs of two versions then have frames of their own in one
/// instance, and neither throws away the other's.
const FORMAT: &[u8] = b"2";

/// As many as an instance keeps; the oldest makes room.
const MOST: usize = 8;

/// The note beside a frame.
const NOTE: &str = "note";
/// The frame itself.
const TREE: &str = "tree";
/// A frame while it is built, by whoever holds the lock.
const NEW: &str = "new";
const LOCK: &str = "lock";

/// Whoever a child is, it may read its frame.
const PUBLIC: Mode = Mode::from_raw_mode(0o644);
const OPEN: Mode = Mode::from_raw_mode(0o755);

/// A directory, and no link to one.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A mount on which no link is followed (`ST_NOSYMFOLLOW`).
const NO_LINKS: StatVfsMountFlags = StatVfsMountFlags::from_bits_retain(0x2000);

/// File systems whose directories the kernel keeps by itself: a frame on any other could change or vanish under a child.
const LOCAL: [u64; 7] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630, 0xca45_1a4e];

/// Where an instance keeps its frames.
#[derive(Debug, Clone)]
pub struct Frames(PathBuf);

/// A frame that is there, and stays until this is dropped.
#[derive(Debug)]
pub struct Frame {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// Who it was when it was finished.
    pub(super) identity: Identity,
    recipe: Vec<u8>,
    seal: Vec<u8>,
    _lock: Held,
}

impl Frame {
    /// Whether it is what these pieces make, and is still there as it was finished.
    pub(super) fn is_of(&self, pieces: &[Piece<'_>]) -> bool {
        self.recipe == recipe(pieces) && seal(&self.path, pieces).is_ok_and(|(_, seal)| seal == self.seal)
    }
}

impl Frames {
    /// Those of the instance at `root`.
    pub fn of(root: &Path) -> Self {
        Self(root.join("cache/cages"))
    }

    /// The frame of these pieces; `None` where none can be kept.
    pub(super) fn frame(&self, pieces: &[Piece<'_>]) -> Option<Frame> {
        let (recipe, boot) = (recipe(pieces), Some(boot::id()).filter(|id| !id.is_empty())?.as_bytes());
        let at = self.0.join(name(&recipe, boot));
        find(&at, pieces, boot, &recipe).or_else(|| {
            self.build(&at, pieces, boot, &recipe).ok()?;
            find(&at, pieces, boot, &recipe)
        })
    }

    /// Builds one, unless somebody else is at it.
    fn build(&self, at: &Path, pieces: &[Piece<'_>], boot: &[u8], recipe: &[u8]) -> Result<()> {
        let present = mkdirat(CWD, &self.0, Mode::RWXU);
        present.or_else(|errno| if errno == Errno::EXIST { Ok(()) } else { Err(errno) })?;
        let here = openat(CWD, &self.0, FOLDER, Mode::empty())?;
        let holds_links = !fstatvfs(&here)?.f_flag.contains(NO_LINKS);
        if !is_ours(&fstat(&here)?) || !holds_links || !LOCAL.contains(&(fstatfs(&here)?.f_type as u64)) {
            return Err(Errno::NOTSUP);
        }
        let own = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&here, LOCK, own, Mode::RUSR | Mode::WUSR)?;
        let _lock = Held::take(lock, FlockOperation::NonBlockingLockExclusive)?;
        self.make_room(boot)?;
        let new = self.0.join(NEW);
        remove(&new)?;
        // Whatever went wrong, the disk may be full: nothing is left there.
        self.finish(&new, at, pieces, &[boot, recipe].concat()).inspect_err(|_| {
            let _left_for_the_next = remove(&new);
        })
    }

    /// Builds it under the name `new`, and calls it `at` when it is whole.
    fn finish(&self, new: &Path, at: &Path, pieces: &[Piece<'_>], what: &[u8]) -> Result<()> {
        mkdirat(CWD, new, Mode::RWXU)?;
        let parent = openat(CWD, new, FOLDER, Mode::empty())?;
        directory(&parent, TREE)?;
        let tree = openat(&parent, TREE, FOLDER, Mode::empty())?;
        pieces.iter().try_for_each(|piece| put(&tree, piece))?;
        let (_, seal) = seal(&new.join(TREE), pieces)?;
        write(&parent, NOTE, &[what, &seal].concat())?;
        // Whatever has this name and is not what its name says.
        discard(at)?;
        renameat_with(CWD, new, CWD, at, RenameFlags::NOREPLACE)
    }

    /// Removes frames of earlier boots, and the oldest ones beyond the most that are kept.
    fn make_room(&self, boot: &[u8]) -> Result<()> {
        let mut kept = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(errno)?.flatten() {
            let at = entry.path();
            if [LOCK, NEW].iter().any(|own| at.ends_with(own)) {
                continue;
            }
            // Let go of at once: whoever discards it takes the lock anew.
            match note(&at, FlockOperation::NonBlockingLockExclusive).map(|(_lock, text)| text) {
                // In use.
                Err(Errno::WOULDBLOCK) => {}
                Ok(text) if text.starts_with(boot) => {
                    let since = statat(CWD, &at, AtFlags::SYMLINK_NOFOLLOW)?;
                    kept.push(((since.st_ctime, since.st_ctime_nsec), at));
                }
                Ok(_) | Err(_) => discard(&at)?,
            }
        }
        kept.sort();
        let beyond = (kept.len() + 1).saturating_sub(MOST);
        kept.iter().take(beyond).try_for_each(|(_, at)| discard(at))
    }
}

/// What a frame is built of, as bytes that differ whenever it would.
fn recipe(pieces: &[Piece<'_>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4096);
    for piece in pieces {
        match piece {
            Piece::Directory(_) => bytes.push(b'd'),
            Piece::MountPoint(_) => bytes.push(b'p'),
            Piece::Link(to, _) => {
                bytes.push(b'l');
                bytes.extend_from_slice(to);
                bytes.push(0);
            }
            Piece::Copy(copied, _) => {
                bytes.push(b'c');
                bytes.extend_from_slice(&copied.version.bytes());
            }
        }
        bytes.extend_from_slice(piece.path());
        bytes.push(0);
    }
    bytes
}

fn name(recipe: &[u8], boot: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(FORMAT);
    hasher.write(boot);
    hasher.write(recipe);
    format!("{:016x}", hasher.finish())
}

/// Who a tree is, and as of which change each directory in which a piece lies: whoever cleans caches may take one and leave
/// the rest.
fn seal(tree: &Path, pieces: &[Piece<'_>]) -> Result<(Identity, Vec<u8>)> {
    let tree = openat(CWD, tree, FOLDER | OFlags::PATH, Mode::empty())?;
    let stat = fstat(&tree)?;
    let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
    let mut bytes = [identity.device.to_ne_bytes(), identity.inode.to_ne_bytes()].concat();
    let mut add = |stat: &Stat| {
        bytes.extend_from_slice(&stat.st_ctime.to_ne_bytes());
        bytes.extend_from_slice(&stat.st_ctime_nsec.to_ne_bytes());
    };
    add(&stat);
    let mut around = Vec::new();
    for piece in pieces {
        let path = piece.path();
        let above = path.iter().rposition(|byte| *byte == b'/').and_then(|slash| path.get(..slash));
        if let Some(above) = above.filter(|above| !around.contains(above)) {
            around.push(above);
            add(&statat(&tree, above, AtFlags::SYMLINK_NOFOLLOW)?);
        }
    }
    Ok((identity, bytes))
}

/// The frame at `at`, if it is what is wanted.
fn find(at: &Path, pieces: &[Piece<'_>], boot: &[u8], recipe: &[u8]) -> Option<Frame> {
    let (lock, mut text) = note(at, FlockOperation::NonBlockingLockShared).ok()?;
    let path = at.join(TREE);
    let (identity, seal) = seal(&path, pieces).ok()?;
    let is_whole = text.strip_prefix(boot)?.strip_prefix(recipe)? == seal;
    // What it was built of is what the note says between the two.
    text.truncate(boot.len() + recipe.len());
    is_whole.then_some(Frame { path, identity, recipe: text.split_off(boot.len()), seal, _lock: lock })
}

/// Whether it belongs to who we are: root in a cage has no power over what others own, and builds on nothing of theirs.
fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}

/// A frame's note, locked. One that was unlinked meanwhile belongs to a frame that is going.
fn note(frame: &Path, lock: FlockOperation) -> Result<(Held, Vec<u8>)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // A link on the way would lead to what is not covered in every cage.
    let cages = openat(CWD, frame.parent().ok_or(Errno::NOENT)?, FOLDER | OFlags::PATH, Mode::empty())?;
    let note = Path::new(frame.file_name().ok_or(Errno::NOENT)?).join(NOTE);
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = Held::take(openat2(&cages, note, flags, Mode::empty(), beneath)?, lock)?;
    let stat = fstat(&file)?;
    if stat.st_nlink == 0 || !is_ours(&stat) {
        return Err(Errno::NOENT);
    }
    let mut text = vec![0; usize::try_from(stat.st_size).unwrap_or_default().min(1 << 20)];
    let length = rustix::io::read(&file, &mut text)?;
    text.truncate(length);
    Ok((file, text))
}

fn put(tree: &OwnedFd, piece: &Piece<'_>) -> Result<()> {
    match piece {
        Piece::Directory(at) => directory(tree, *at),
        Piece::MountPoint(at) => write(tree, *at, &[]),
        Piece::Link(to, at) => symlinkat(*to, tree, *at),
        Piece::Copy(copied, at) => match content(copied.source) {
            Ok((version, content)) if version == copied.version && content.len() as u64 == version.size => {
                write(tree, *at, &content)
            }
            // Changed since it was looked at: another frame is wanted.
            _ => Err(Errno::STALE),
        },
    }
}

/// Modes are set once more, whatever the umask took.
fn directory(parent: &OwnedFd, at: impl rustix::path::Arg + Copy) -> Result<()> {
    mkdirat(parent, at, OPEN)?;
    chmodat(parent, at, OPEN, AtFlags::empty())
}

fn write(parent: &OwnedFd, at: impl rustix::path::Arg, content: &[u8]) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(parent, at, flags, PUBLIC)?;
    fchmod(&file, PUBLIC)?;
    if rustix::io::write(&file, content)? == content.len() { Ok(()) } else { Err(Errno::NOSPC) }
}

/// Throws a frame away that nobody uses.
fn discard(at: &Path) -> Result<()> {
    match note(at, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(()),
        // From here on nobody takes it for a frame any more.
        Ok(_lock) => unlinkat(CWD, at.join(NOTE), AtFlags::empty())?,
        Err(_) => {}
    }
    remove(at)
}

/// Removes a directory with all that is in it, or whatever lies in its place; one that is not there will do.
fn remove(at: &Path) -> Result<()> {
    match openat(CWD, at, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => unlinkat(CWD, at, AtFlags::empty()),
        Err(errno) => Err(errno),
        Ok(folder) => {
            clear(&folder)?;
            unlinkat(CWD, at, AtFlags::REMOVEDIR)
        }
    }
}

/// By its handle, never by a path: nobody can put another directory in its place.
fn clear(folder: &OwnedFd) -> Result<()> {
    let mut chunk = Vec::with_capacity(4096);
    let mut entries = RawDir::new(folder, chunk.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => {
                clear(&openat(folder, name, FOLDER, Mode::empty())?)?;
                unlinkat(folder, name, AtFlags::REMOVEDIR)?;
            }
            other => other?,
        }
    }
    Ok(())
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test spoils files from outside the rooms")]
mod tests {
    use super::*;
    use crate::isolate::layout::{Copied, Version};
    use std::os::unix::fs::MetadataExt;

    struct Place {
        _dir: tempfile::TempDir,
        frames: Frames,
        source: PathBuf,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("cache")).unwrap();
        let source = dir.path().join("source");
        std::fs::write(&source, "first").unwrap();
        Place { frames: Frames::of(dir.path()), source, _dir: dir }
    }

    impl Place {
        fn pieces<'p>(&'p self, top: &'p str) -> Vec<Piece<'p>> {
            let version = Version::of(&rustix::fs::stat(&self.source).unwrap()).unwrap();
            vec![
                Piece::Directory(b"etc"),
                Piece::Copy(Copied { source: &self.source, version }, b"etc/copy"),
                Piece::MountPoint(b"etc/place"),
                Piece::Link(b"usr/bin", b"bin"),
                Piece::Directory(top.as_bytes()),
            ]
        }

        fn frame(&self, top: &str) -> Option<Frame> {
            self.frames.frame(&self.pieces(top))
        }

        fn names(&self) -> Vec<PathBuf> {
            let all = std::fs::read_dir(&self.frames.0).unwrap().map(|entry| entry.unwrap().path());
            all.filter(|path| !path.ends_with(LOCK)).collect()
        }
    }

    fn copied(frame: &Frame) -> String {
        std::fs::read_to_string(frame.path.join("etc/copy")).unwrap()
    }

    #[test]
    fn a_frame_is_built_once_and_holds_what_its_pieces_say() {
        let place = place();
        let (first, second) = (place.frame("home").unwrap(), place.frame("home").unwrap());
        assert_eq!((&first.path, first.identity), (&second.path, second.identity));
        assert!(first.is_of(&place.pieces("home")) && !first.is_of(&place.pieces("opt")));
        let meta = std::fs::metadata(&first.path).unwrap();
        assert_eq!((meta.dev(), meta.ino()), (first.identity.device, first.identity.inode));
        assert_eq!(copied(&first), "first");
        assert_eq!(std::fs::read_link(first.path.join("bin")).unwrap(), Path::new("usr/bin"));
        for (at, mode) in [("", 0o40755), ("etc", 0o40755), ("etc/copy", 0o100644), ("etc/place", 0o100644)] {
            assert_eq!(std::fs::metadata(first.path.join(at)).unwrap().mode(), mode, "`{at}`");
        }
        assert_eq!(place.names().len(), 1);
    }

    #[test]
    fn a_changed_file_means_another_frame() {
        let place = place();
        let before = place.frame("home").unwrap();
        let old = place.pieces("home");
        std::fs::write(&place.source, "later").unwrap();
        assert!(!before.is_of(&place.pieces("home")), "of the same size, and still another version");
        let after = place.frame("home").unwrap();
        assert_eq!((copied(&before).as_str(), copied(&after).as_str()), ("first", "later"));
        drop((before, after));
        std::fs::write(&place.source, "third").unwrap();
        assert!(place.frames.frame(&old).is_none_or(|frame| copied(&frame) == "first"), "nothing is mixed");
    }

    #[test]
    fn whatever_is_not_a_finished_frame_is_not_taken_for_one() {
        type Spoil = fn(&Path);
        let spoils: [(&str, Spoil); 5] = [
            ("a note that is cut short", |at| {
                let text = std::fs::read(at.join(NOTE)).unwrap();
                std::fs::write(at.join(NOTE), &text[..text.len() - 3]).unwrap();
            }),
            ("no note", |at| std::fs::remove_file(at.join(NOTE)).unwrap()),
            ("a note of another boot", |at| {
                let mut text = std::fs::read(at.join(NOTE)).unwrap();
                text[0] ^= 1;
                std::fs::write(at.join(NOTE), text).unwrap();
            }),
            ("a note of other pieces", |at| {
                let mut text = std::fs::read(at.join(NOTE)).unwrap();
                text[boot::id().len()] ^= 1;
                std::fs::write(at.join(NOTE), text).unwrap();
            }),
            ("a build that was interrupted", |at| {
                std::fs::rename(at, at.with_file_name(NEW)).unwrap();
                std::fs::write(at.with_file_name(NEW).join("tree/etc/copy"), "half").unwrap();
            }),
        ];
        for (why, spoil) in spoils {
            let place = place();
            let at = place.frame("home").unwrap().path.parent().unwrap().to_owned();
            std::fs::write(at.join("tree/spoilt"), "").unwrap();
            spoil(&at);
            let pieces = place.pieces("home");
            let found = find(&at, &pieces, boot::id().as_bytes(), &recipe(&pieces));
            assert!(found.is_none(), "{why}");
            let again = place.frame("home").expect(why);
            assert_eq!(copied(&again), "first", "{why}");
            assert!(!again.path.join("spoilt").exists(), "{why}: built anew");
            assert_eq!(place.names(), [at], "{why}: nothing is left of the other");
        }
    }

    #[test]
    fn nothing_is_left_of_a_frame_that_could_not_be_finished() {
        let place = place();
        let mut pieces = place.pieces("home");
        pieces.push(Piece::Directory(b"not/there"));
        assert!(place.frames.frame(&pieces).is_none());
        assert_eq!(place.names(), [""; 0].map(PathBuf::from));
        assert!(place.frame("home").is_some(), "and the next is built");
    }

    #[test]
    fn a_frame_that_was_moved_and_linked_is_not_taken() {
        for (why, is_one) in [("the frame", true), ("all frames", false)] {
            let place = place();
            let at = place.frame("home").unwrap().path.parent().unwrap().to_owned();
            let from = if is_one { at } else { place.frames.0.clone() };
            let to = place.source.with_file_name("elsewhere");
            std::fs::rename(&from, &to).unwrap();
            std::os::unix::fs::symlink(&to, &from).unwrap();
            let frame = place.frame("home");
            assert!(frame.is_none_or(|frame| !frame.path.canonicalize().unwrap().starts_with(&to)), "{why}");
        }
    }

    #[test]
    fn what_belongs_to_somebody_else_is_not_built_on() {
        if !rustix::process::geteuid().is_root() {
            picoclaw_testing::skip!("only root gives files away");
            return;
        }
        for (why, whose) in [("the frame's note", true), ("where frames are kept", false)] {
            let place = place();
            let at = place.frame("home").unwrap().path.parent().unwrap().to_owned();
            let given = if whose { at.join(NOTE) } else { place.frames.0.clone() };
            std::os::unix::fs::chown(given, Some(65_534), Some(65_534)).unwrap();
            let pieces = place.pieces("home");
            let found = find(&at, &pieces, boot::id().as_bytes(), &recipe(&pieces));
            assert_eq!(found.is_none(), whose, "{why}");
            drop(found);
            assert_eq!(place.frame("opt").is_some(), whose, "{why}: another");
        }
    }

    #[test]
    fn nobody_waits_for_a_builder() {
        let place = place();
        std::fs::create_dir(&place.frames.0).unwrap();
        let lock = std::fs::File::create(place.frames.0.join(LOCK)).unwrap();
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
        assert!(place.frame("home").is_none());
        drop(lock);
        assert!(place.frame("home").is_some());
    }

    #[test]
    fn the_oldest_make_room_but_none_that_is_in_use() {
        let place = place();
        let used = place.frame("used").unwrap();
        let first = place.frame("a0").unwrap().path.clone();
        for number in 1..MOST + 3 {
            assert!(place.frame(&format!("a{number}")).is_some());
        }
        assert!(!first.exists(), "the oldest of those that nobody uses");
        assert_eq!(copied(&used), "first", "whoever uses one keeps it");
        assert_eq!(place.names().len(), MOST + 1, "and it is one more for as long");
        drop(used);
        place.frame("b").unwrap();
        assert_eq!(place.names().len(), MOST);
    }

    #[test]
    fn whatever_lies_there_and_is_no_frame_of_this_boot_makes_room() {
        type Spoil = fn(&Path);
        let spoils: [(&str, Spoil); 6] = [
            ("of an earlier boot", |at| {
                let mut text = std::fs::read(at.join(NOTE)).unwrap();
                text[0] ^= 1;
                std::fs::write(at.join(NOTE), text).unwrap();
            }),
            ("without a note", |at| std::fs::remove_file(at.join(NOTE)).unwrap()),
            ("with a note that says nothing", |at| std::fs::write(at.join(NOTE), "").unwrap()),
            ("with a link for a note", |at| {
                std::fs::remove_file(at.join(NOTE)).unwrap();
                std::os::unix::fs::symlink("tree", at.join(NOTE)).unwrap();
            }),
            ("a file", |at| {
                std::fs::remove_dir_all(at).unwrap();
                std::fs::write(at, "").unwrap();
            }),
            ("a link where the next one is built", |at| {
                std::fs::remove_dir_all(at).unwrap();
                std::os::unix::fs::symlink("/", at.with_file_name(NEW)).unwrap();
            }),
        ];
        for (why, spoil) in spoils {
            let place = place();
            let old = place.frame("old").unwrap().path.parent().unwrap().to_owned();
            spoil(&old);
            assert!(place.frame("new").is_some(), "{why}");
            assert!(!old.exists(), "{why}");
        }
    }

    #[test]
    fn many_at_once_get_a_whole_frame_or_none() {
        let place = place();
        let got = std::thread::scope(|scope| {
            let one = || {
                let frames = (0..20).filter_map(|number| place.frame(["x", "y", "z"][number % 3]));
                frames.map(|frame| assert_eq!(copied(&frame), "first")).count()
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum::<usize>()
        });
        assert!(got >= 3, "each is built by somebody");
    }
}
