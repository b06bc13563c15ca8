//! A private directory of the program's own, and whole files in it.
//!
//! A file is replaced by rename: its name stands for the whole old file or the whole new one.

use super::error::StateError;
use super::line_file::LineFile;
use crate::file_lock::FileLock;
use crate::os_file::{
    AtFlags, CWD, Dir, Errno, FileType, Mode, O_PATH, OFlags, OwnedFd, Stat, fchmod, fstat, fsync, identity,
    mkdirat, openat, statat, unlinkat,
};
use crate::root::{RenameMode, TempFile, is_temp_name};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long [`StateDir::append`] and [`StateDir::ensure`] wait for another writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a file that was removed before it was locked is opened anew.
const MAX_LOCK_ATTEMPTS: usize = 1_000;

/// The longest name that file systems take.
const MAX_NAME: usize = 255;

/// A private directory of the program's own.
#[derive(Debug, Clone)]
pub struct StateDir {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) path: PathBuf,
}

/// One file of a state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written last.
    pub modified: SystemTime,
}

impl StateDir {
    /// `<home>/state/<name>`, created if need be.
    pub fn open(home: &Path, name: &str) -> Result<Self, StateError> {
        Self::of_instance(home)?.subdir(name)
    }

    /// `<home>/state`, created if need be.
    pub fn of_instance(home: &Path) -> Result<Self, StateError> {
        Self::home(home, O_PATH)?.subdir("state")
    }

    /// The directory of the log files: `<home>/logs`, created if need be.
    pub fn of_logs(home: &Path) -> Result<Self, StateError> {
        Self::home(home, O_PATH)?.subdir("logs")
    }

    /// The directory of the instance itself.
    pub(crate) fn of_home(home: &Path) -> Result<Self, StateError> {
        Self::home(home, OFlags::RDONLY)
    }

    /// The path to the instance is the operator's and may cross links; nothing below it may.
    fn home(home: &Path, access: OFlags) -> Result<Self, StateError> {
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, home, flags, Mode::empty()).map_err(StateError::of("open", home))?;
        Ok(Self { dir: Arc::new(dir), path: home.to_owned() })
    }

    /// A directory within this one, created if need be.
    pub fn subdir(&self, name: &str) -> Result<Self, StateError> {
        check_name(name)?;
        let path = self.path.join(name);
        match mkdirat(&*self.dir, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(StateError::of("make", &path)(errno)),
        }
        self.open_subdir(name)?.ok_or_else(|| StateError::of("open", &path)(Errno::NOENT))
    }

    /// A directory within this one; `None` when there is none.
    pub fn open_subdir(&self, name: &str) -> Result<Option<Self>, StateError> {
        check_name(name)?;
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&*self.dir, name, flags, Mode::empty()) {
            Ok(dir) => Ok(Some(Self { dir: Arc::new(dir), path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(StateError::of("open", &path)(errno)),
        }
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of a file; `None` when there is none, an error when it is larger than `max`
    /// bytes.
    pub fn read(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, StateError> {
        let Some(file) = self.file(name, OFlags::RDONLY)? else { return Ok(None) };
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        let read = file.take(max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(StateError::of("read", &path))?;
        if bytes.len() as u64 > max {
            return Err(StateError::TooLarge { path, limit: max });
        }
        Ok(Some(bytes))
    }

    /// Replaces a file by `bytes`, in one step, and syncs it.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        check_name(name)?;
        let path = self.path.join(name);
        let fault = |verb| StateError::of(verb, &path);
        let temp = TempFile::new_in(&self.dir, std::process::id()).map_err(fault("write"))?;
        temp.add(bytes).map_err(fault("write"))?;
        fsync(temp.file()).map_err(fault("sync"))?;
        temp.rename_to(OsStr::new(name), RenameMode::Replace).map_err(fault("replace"))?;
        fsync(&*self.dir).map_err(fault("sync the directory of"))
    }

    /// Replaces a file by `bytes` unless these are its content; its path. Of several writers at a
    /// time one replaces it: mounting a file that is just replaced fails with ESTALE.
    pub fn ensure(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StateError> {
        let is_current = || {
            self.read(name, bytes.len() as u64).is_ok_and(|known| known.is_some_and(|known| known == bytes))
        };
        if !is_current() {
            let _lock = self.lock("lock", LOCK_TIMEOUT)?;
            if !is_current() {
                self.replace(name, bytes)?;
            }
        }
        Ok(self.path.join(name))
    }

    /// Appends one line to a file, which is created if need be: one lock, one write, one sync.
    pub fn append(&self, name: &str, line: &[u8]) -> Result<(), StateError> {
        let mut file = self.lock(name, LOCK_TIMEOUT)?;
        file.append(line)?;
        file.sync()
    }

    /// Opens a file of lines for the only writer, created if need be; waits at most `wait` for
    /// another one.
    pub fn lock(&self, name: &str, wait: Duration) -> Result<LineFile, StateError> {
        LineFile::lock(self, name, wait)
    }

    /// Opens a file with `open` and locks it with `lock`. The previous holder may have removed or
    /// replaced it meanwhile: then the one that has the name is locked. `None` when `lock` gives
    /// none, or the file is replaced each time.
    pub(crate) fn lock_named(
        &self,
        name: &str,
        mut open: impl FnMut() -> Result<File, StateError>,
        lock: impl Fn(File) -> io::Result<Option<FileLock>>,
    ) -> Result<Option<FileLock>, StateError> {
        let path = self.path.join(name);
        for _ in 0..MAX_LOCK_ATTEMPTS {
            let Some(lock) = lock(open()?).map_err(StateError::of("lock", &path))? else { return Ok(None) };
            let locked = fstat(lock.file()).map_err(StateError::of("look at", &path))?;
            let named = statat(&*self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
            if named.is_ok_and(|named| identity(&named) == identity(&locked)) {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// Opens a file of lines for reading, without the lock; `None` when there is none.
    pub fn open_lines(&self, name: &str) -> Result<Option<LineFile>, StateError> {
        Ok(self.file(name, OFlags::RDONLY)?.map(|file| LineFile::unlocked(file, self.path.join(name))))
    }

    /// Removes a file and syncs that; does nothing when there is none.
    pub fn remove(&self, name: &str) -> Result<(), StateError> {
        if self.unlink(name)? {
            fsync(&*self.dir).map_err(StateError::of("remove", &self.path.join(name)))?;
        }
        Ok(())
    }

    /// Removes a file without a sync; whether there was one.
    pub(crate) fn unlink(&self, name: &str) -> Result<bool, StateError> {
        check_name(name)?;
        match unlinkat(&*self.dir, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(StateError::of("remove", &self.path.join(name))(errno)),
        }
    }

    /// Every regular file, by name.
    pub fn list(&self) -> Result<Vec<FileInfo>, StateError> {
        self.entries(|name, stat| {
            let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            (regular && !is_temp_name(OsStr::new(name))).then(|| FileInfo {
                name: name.to_owned(),
                size: u64::try_from(stat.st_size).unwrap_or_default(),
                modified: modified(stat),
            })
        })
    }

    /// Temporary files that writers left behind when they were killed, at least an hour ago.
    pub fn stale_temps(&self) -> Result<Vec<String>, StateError> {
        const HOUR: Duration = Duration::from_secs(3600);
        self.entries(|name, stat| {
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            let age = modified(stat).elapsed().unwrap_or_default();
            (is_file && is_temp_name(OsStr::new(name)) && age > HOUR).then(|| name.to_owned())
        })
    }

    /// The names of the directories within this one.
    pub fn subdir_names(&self) -> Result<Vec<String>, StateError> {
        let is_directory = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        self.entries(|name, stat| is_directory(stat).then(|| name.to_owned()))
    }

    fn entries<T>(&self, pick: impl Fn(&str, &Stat) -> Option<T>) -> Result<Vec<T>, StateError> {
        let fault = StateError::of("list", &self.path);
        let mut names = Vec::new();
        for entry in Dir::read_from(&*self.dir).map_err(&fault)? {
            let entry = entry.map_err(&fault)?;
            // The program creates no name that is not UTF-8.
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

    /// Opens a regular file, created if need be.
    pub(crate) fn created(&self, name: &str, flags: OFlags) -> Result<File, StateError> {
        let file = self.file(name, flags | OFlags::CREATE)?;
        file.ok_or_else(|| StateError::of("make", &self.path.join(name))(Errno::NOENT))
    }

    /// Opens a regular file; `None` when there is none and `flags` do not create one.
    pub(crate) fn file(&self, name: &str, flags: OFlags) -> Result<Option<File>, StateError> {
        check_name(name)?;
        let path = self.path.join(name);
        // NONBLOCK: a FIFO under this name must fail the check below, not hang here.
        let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match openat(&*self.dir, name, safe | flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(StateError::of("open", &path)(errno)),
        };
        let stat = fstat(&file).map_err(StateError::of("look at", &path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(StateError::NotAFile { path });
        }
        if stat.st_mode & 0o077 != 0 && flags != OFlags::RDONLY {
            // Perhaps copied here by hand. A file of another user stays as it is.
            let _ = fchmod(&file, Mode::RUSR | Mode::WUSR);
        }
        Ok(Some(File::from(file)))
    }
}

/// Refuses a name that is not a single path component.
fn check_name(name: &str) -> Result<(), StateError> {
    let fits = !name.is_empty() && name.len() <= MAX_NAME && !matches!(name, "." | "..");
    if fits && !name.contains(['/', '\0']) {
        Ok(())
    } else {
        Err(StateError::BadName { name: name.to_owned() })
    }
}

fn modified(stat: &Stat) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_file_that_has_the_name_is_locked() {
        let home = tempfile::tempdir().unwrap();
        let dir = StateDir::open(home.path(), "locks").unwrap();
        let attempts = Cell::new(0);
        // The previous holder removes the file before it is locked, `removals` times.
        let lock = |removals| {
            attempts.set(0);
            let open = || {
                let file = dir.created("lock", OFlags::RDWR);
                attempts.set(attempts.get() + 1);
                if attempts.get() <= removals {
                    dir.unlink("lock")?;
                }
                file
            };
            dir.lock_named("lock", open, FileLock::try_exclusive).unwrap()
        };
        assert!(lock(usize::MAX).is_none(), "attempts are bounded");
        let held = lock(2);
        assert_eq!((held.is_some(), attempts.get()), (true, 3));
        assert!(lock(0).is_none(), "it is held");
    }
}
