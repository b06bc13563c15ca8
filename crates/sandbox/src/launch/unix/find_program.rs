//! Looking a program up along `PATH`.

use crate::launch::error::ProgramError;
use picoclaw_policy::CleanPath;
use rustix::fs::{Access, AtFlags, CWD, FileType};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The absolute path of the executable `name`, as a shell finds it: a name with a slash relative to
/// `from`, any other along `path`. Relative entries of `path` are skipped, since they depend on the
/// working directory.
pub fn find_program(name: &OsStr, path: &OsStr, from: &Path) -> Result<PathBuf, ProgramError> {
    let missing = || ProgramError::NotFound { program: PathBuf::from(name) };
    if name.is_empty() || name.as_encoded_bytes().contains(&0) {
        return Err(missing());
    }
    if name.as_encoded_bytes().contains(&b'/') {
        let program = normalize(from.join(name));
        return executable(&program)
            .map(|()| program)
            .map_err(|errno| ProgramError::from_errno(name.into(), errno));
    }
    let mut refused = None;
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        let program = directory.join(name);
        match executable(&program) {
            Ok(()) => return Ok(program),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused = refused.or(Some(ProgramError::from_errno(program, error))),
        }
    }
    Err(refused.unwrap_or_else(missing))
}

/// The path without `.` and `..`, where that is the same file: a cage shows a program at its path,
/// and dots would need more directories there.
fn normalize(program: PathBuf) -> PathBuf {
    let is_same = |clean: &CleanPath| {
        let stat = |path: &Path| rustix::fs::statat(CWD, path, AtFlags::empty()).ok();
        stat(clean.as_path())
            .zip(stat(&program))
            .is_some_and(|(a, b)| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    };
    match CleanPath::absolute(&program).filter(is_same) {
        Some(clean) => clean.as_path().to_owned(),
        None => program,
    }
}

fn executable(program: &Path) -> io::Result<()> {
    let found = match rustix::fs::statat(CWD, program, AtFlags::empty()) {
        Err(rustix::io::Errno::NOTDIR) => return Err(io::ErrorKind::NotFound.into()),
        other => other?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(rustix::io::Errno::ACCESS.into());
    }
    Ok(rustix::fs::accessat(CWD, program, Access::EXEC_OK, AtFlags::EACCESS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_shell_finds_it() {
        let path = OsStr::new("relative:/nowhere:/usr/bin:/bin");
        for (why, name, want) in [
            ("along the path", "true", Ok("/usr/bin/true")),
            ("as it stands", "/bin/sh", Ok("/bin/sh")),
            ("relative to the working directory", "../bin/sh", Ok("/bin/sh")),
            ("not there", "no-such-program", Err(127)),
            ("nothing", "", Err(127)),
            ("a directory", "/usr/bin", Err(126)),
            ("no execute bit", "/etc/passwd", Err(126)),
            ("a file is no directory", "/etc/passwd/x", Err(127)),
        ] {
            let got = find_program(OsStr::new(name), path, Path::new("/usr"));
            assert_eq!(got.map_err(|error| error.exit_code()), want.map(PathBuf::from), "{why}: `{name}`");
        }
    }
}
