//! A shelf: one private directory of the program's own, and whole files in it.
//!
//! Invariant: at every moment a name stands for the whole old file or the whole new one.

use super::book::Book;
use super::error::ShelfError;
use super::name;
use crate::root::{RenameMode, TempFile, is_temp_name};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, statat, unlinkat,
};
use rustix::io::{Errno, read};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long [`Shelf::append`] waits for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A private directory of the program's own.
#[derive(Debug, Clone)]
pub struct Shelf {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) path: PathBuf,
}

/// One file on a shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written last.
    pub modified: SystemTime,
}

impl Shelf {
    /// The shelf `room` of the instance at `home`: `<home>/state/<room>`, made if need be.
    pub fn open(home: &Path, room: &str) -> Result<Self, ShelfError> {
        Self::of_instance(home)?.inner(room)
    }

    /// The shelf that all others of the instance at `home` stand in: `<home>/state`, made if need be.
    pub fn of_instance(home: &Path) -> Result<Self, ShelfError> {
        // The way to the instance is the operator's and may cross links; nothing below it may.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, home, flags, Mode::empty()).map_err(ShelfError::of("open", home))?;
        Self { dir: Arc::new(dir), path: home.to_owned() }.inner("state")
    }

    /// The shelf of the instance's log files: `<home>/logs`, made if need be.
    pub fn of_logs(home: &Path) -> Result<Self, ShelfError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, home, flags, Mode::empty()).map_err(ShelfError::of("open", home))?;
        Self { dir: Arc::new(dir), path: home.to_owned() }.inner("logs")
    }

    /// A shelf within this one, made if need be.
    pub fn inner(&self, name: &str) -> Result<Self, ShelfError> {
        name::check(name)?;
        let path = self.path.join(name);
        match mkdirat(&*self.dir, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(ShelfError::of("make", &path)(errno)),
        }
        self.enter(name)?.ok_or_else(|| ShelfError::of("open", &path)(Errno::NOENT))
    }

    /// A shelf within this one, if it is there.
    pub fn enter(&self, name: &str) -> Result<Option<Self>, ShelfError> {
        name::check(name)?;
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&*self.dir, name, flags, Mode::empty()) {
            Ok(dir) => Ok(Some(Self { dir: Arc::new(dir), path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(ShelfError::of("open", &path)(errno)),
        }
    }

    /// Where the shelf is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole of a file; `None` when there is none, an error when it is larger than `most`.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, ShelfError> {
        let Some(file) = self.file(name, OFlags::RDONLY)? else { return Ok(None) };
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            match read(&file, &mut piece) {
                Ok(0) => return Ok(Some(bytes)),
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(ShelfError::of("read", &path)(errno)),
            }
            if bytes.len() as u64 > most {
                return Err(ShelfError::TooLarge { path, limit: most });
            }
        }
    }

    /// Puts `bytes` in place of a file, in one step, on the disk.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        name::check(name)?;
        let path = self.path.join(name);
        let fault = |verb| ShelfError::of(verb, &path);
        let temp = TempFile::new_in(&self.dir, std::process::id()).map_err(fault("write"))?;
        temp.add(bytes).map_err(fault("write"))?;
        fsync(temp.file()).map_err(fault("sync"))?;
        temp.rename_to(OsStr::new(name), RenameMode::Replace).map_err(fault("replace"))?;
        fsync(&*self.dir).map_err(fault("sync the directory of"))
    }

    /// Adds one line to a file, which is made if need be: one lock, one write, and on the disk when it returns.
    pub fn append(&self, name: &str, line: &[u8]) -> Result<(), ShelfError> {
        let mut book = self.hold(name, PATIENCE)?;
        book.append(line)?;
        book.sync()
    }

    /// Opens a file of lines for one writer alone, made if need be; waits at most `patience` for another one.
    pub fn hold(&self, name: &str, patience: Duration) -> Result<Book, ShelfError> {
        Book::hold(self, name, patience)
    }

    /// Opens a file of lines to read it, whoever writes.
    pub fn look_into(&self, name: &str) -> Result<Option<Book>, ShelfError> {
        Ok(self.file(name, OFlags::RDONLY)?.map(|file| Book::reading(file, self.path.join(name))))
    }

    /// Removes a file; nothing happens when there is none.
    pub fn remove(&self, name: &str) -> Result<(), ShelfError> {
        name::check(name)?;
        match unlinkat(&*self.dir, name, AtFlags::empty()) {
            Ok(()) => fsync(&*self.dir),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
        .map_err(ShelfError::of("remove", &self.path.join(name)))
    }

    /// Every regular file on the shelf, in the order of their names.
    pub fn list(&self) -> Result<Vec<Item>, ShelfError> {
        self.every(|name, stat| {
            let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            (regular && !is_temp_name(OsStr::new(name))).then(|| Item {
                name: name.to_owned(),
                size: u64::try_from(stat.st_size).unwrap_or_default(),
                modified: modified(stat),
            })
        })
    }

    /// The names of the shelves within this one.
    pub fn inner_names(&self) -> Result<Vec<String>, ShelfError> {
        let is_directory =
            |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        self.every(|name, stat| is_directory(stat).then(|| name.to_owned()))
    }

    fn every<T>(&self, pick: impl Fn(&str, &rustix::fs::Stat) -> Option<T>) -> Result<Vec<T>, ShelfError> {
        let fault = ShelfError::of("list", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(&*self.dir).map_err(&fault)? {
            let entry = entry.map_err(&fault)?;
            // A name that is not text is none of ours.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !matches!(name, "." | "..") {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        let mut found = Vec::new();
        for name in names {
            match statat(&*self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => found.extend(pick(&name, &stat)),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(fault(errno)),
            }
        }
        Ok(found)
    }

    /// Opens a regular file; `None` when there is none and `how` does not make one.
    pub(super) fn file(&self, name: &str, how: OFlags) -> Result<Option<OwnedFd>, ShelfError> {
        name::check(name)?;
        let path = self.path.join(name);
        // NONBLOCK: a FIFO under this name must fail the check below, not hang here.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | how;
        let file = match openat(&*self.dir, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(ShelfError::of("open", &path)(errno)),
        };
        let stat = fstat(&file).map_err(ShelfError::of("look at", &path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ShelfError::NotAFile { path });
        }
        if stat.st_mode & 0o077 != 0 && how != OFlags::RDONLY {
            // Copied here by hand, perhaps; from now on it is private. A file of somebody else's stays as it is.
            let _ = fchmod(&file, Mode::RUSR | Mode::WUSR);
        }
        Ok(Some(file))
    }
}

fn modified(stat: &rustix::fs::Stat) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default())
}
