//! Temporary files that are renamed into place.
//!
//! Invariant: a temporary file is renamed or removed; only a killed process leaves one behind, with
//! mode 0600.

use crate::os_file::{
    AtFlags, Errno, Mode, OFlags, OwnedFd, RenameFlags, Result, linkat, openat, renameat, renameat_with,
    unlinkat, write,
};
use std::ffi::OsStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many names are tried.
const MAX_ATTEMPTS: usize = 16;

/// A temporary file.
pub(crate) struct TempFile<'a> {
    dir: &'a OwnedFd,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

/// Whether a rename replaces an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenameMode {
    /// It does.
    Replace,
    /// It fails, in one step (RENAME_NOREPLACE).
    NoReplace,
}

impl<'a> TempFile<'a> {
    /// Makes an empty file in `dir`, with mode 0600 and a unique name.
    pub(crate) fn new_in(dir: &'a OwnedFd, pid: u32) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut attempts = MAX_ATTEMPTS;
        loop {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!(".tmp-{}-{}", pid, since.as_nanos());
            match openat(dir, &name, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) => return Ok(Self { dir, name, file, renamed: false }),
                Err(Errno::EXIST) if attempts > 0 => attempts -= 1,
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Appends `bytes`.
    pub(crate) fn add(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match write(&self.file, bytes) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Renames it to `name`.
    pub(crate) fn rename_to(mut self, name: &OsStr, mode: RenameMode) -> Result<()> {
        match mode {
            RenameMode::Replace => renameat(self.dir, &self.name, self.dir, name)?,
            RenameMode::NoReplace => {
                match renameat_with(self.dir, &self.name, self.dir, name, RenameFlags::NOREPLACE) {
                    // Some file systems and seccomp profiles lack the flag; link(2) does not
                    // replace either.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
                        linkat(self.dir, &self.name, self.dir, name, AtFlags::empty())?;
                        return Ok(());
                    }
                    done => done?,
                }
            }
        }
        self.renamed = true;
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // If this fails, the file is removed later as stale.
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// Whether [`TempFile::new_in`] could have chosen `name`.
pub(crate) fn is_temp_name(name: &OsStr) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let Some(rest) = name.as_encoded_bytes().strip_prefix(b".tmp-") else { return false };
    let mut parts = rest.splitn(2, |byte| *byte == b'-');
    parts.next().is_some_and(digits) && parts.next().is_some_and(digits)
}
