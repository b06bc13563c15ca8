//! Looking a program up along `PATH`.

use crate::launch::error::ProgramError;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The extensions of programs. `PATHEXT` is not asked: a batch file cannot be started without
/// `cmd`.
const EXTENSIONS: [&str; 2] = [".exe", ".com"];
const BATCH_EXTENSIONS: [&str; 2] = [".cmd", ".bat"];

/// The absolute path of the executable `name`: a name with a separator relative to `from`, any
/// other along `path`. The current directory and relative entries of `path` are skipped. A name
/// without an extension is never a program: beside `npx.cmd` lies `npx`, a script for other
/// systems.
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
    let is_there = |program: &PathBuf| program.is_file();
    if let Some(program) =
        directories.iter().flat_map(|dir| with_extensions(dir, name, &BATCH_EXTENSIONS)).find(is_there)
    {
        let why = "it is a batch file, which parses its arguments again; name the program that it starts";
        return Err(ProgramError::NotExecutable { program, source: io::Error::other(why) });
    }
    Err(refused.unwrap_or_else(missing))
}

/// What `name` may stand for in `directory`: with one of the extensions, or as it is if it has one.
fn candidates(directory: &Path, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    let as_it_is = directory.join(name);
    let has_extension =
        |known: &str| as_it_is.extension().is_some_and(|own| own.eq_ignore_ascii_case(&known[1..]));
    let is_full = EXTENSIONS.iter().any(|known| has_extension(known));
    let itself = as_it_is.extension().is_some().then(|| as_it_is.clone());
    let extended = if is_full { None } else { Some(with_extensions(directory, name, &EXTENSIONS)) };
    extended.into_iter().flatten().chain(itself)
}

fn with_extensions<'e>(
    directory: &Path,
    name: &OsStr,
    extensions: &'e [&'e str],
) -> impl Iterator<Item = PathBuf> + use<'e> {
    let path = directory.join(name).into_os_string();
    extensions.iter().map(move |extension| {
        let mut path = path.clone();
        path.push(extension);
        PathBuf::from(path)
    })
}
