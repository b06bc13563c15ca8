//! Looking a program up along `PATH`.

use crate::launch::error::ProgramError;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// What is appended to a name. `PATHEXT` is not asked: a batch file cannot be started without `cmd`.
const EXTENSIONS: [&str; 3] = ["", ".exe", ".com"];

/// The absolute path of the executable `name`: a name with a separator relative to `from`, any other along `path`. The
/// current directory and relative entries of `path` are skipped.
pub fn find_program(name: &OsStr, path: &OsStr, from: &Path) -> Result<PathBuf, ProgramError> {
    let missing = || ProgramError::NotFound { program: PathBuf::from(name) };
    if name.is_empty() || name.as_encoded_bytes().contains(&0) {
        return Err(missing());
    }
    let has_separator = name.as_encoded_bytes().iter().any(|byte| matches!(byte, b'/' | b'\\' | b':'));
    let directories: Vec<PathBuf> = if has_separator {
        vec![from.to_owned()]
    } else {
        std::env::split_paths(path).filter(|directory| directory.is_absolute()).collect()
    };
    let mut refused = None;
    for program in directories.iter().flat_map(|directory| candidates(directory, name)) {
        match program.metadata() {
            Ok(found) if found.is_file() => return Ok(program),
            Ok(_) => {
                let why = io::Error::from(io::ErrorKind::PermissionDenied);
                refused = refused.or(Some(ProgramError::NotExecutable { program, source: why }));
            }
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(missing))
}

fn candidates(directory: &Path, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    EXTENSIONS.iter().map(move |extension| {
        let mut name = OsString::from(name);
        name.push(extension);
        directory.join(name)
    })
}
