//! Command line and environment in the form that `CreateProcess` takes.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::OsStrExt as _;

/// Why arguments or variables cannot be given to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandLineFault {
    /// A NUL ends the text for Windows.
    Nul,
    /// A batch file parses its arguments again, by rules that no quoting satisfies.
    BatchFile,
    /// A name of a variable that is empty or contains `=`.
    VariableName,
}

impl std::fmt::Display for CommandLineFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nul => "an argument or variable contains a NUL",
            Self::BatchFile => "a batch file parses its arguments again and cannot be started directly",
            Self::VariableName => "the name of a variable is empty or contains `=`",
        })
    }
}

impl std::error::Error for CommandLineFault {}

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;

/// `program` and `args`, quoted so that `CommandLineToArgvW` and the C runtime split them again;
/// with a NUL at the end.
pub fn command_line(program: &OsStr, args: &[OsString]) -> Result<Vec<u16>, CommandLineFault> {
    let name = program.to_string_lossy().to_lowercase();
    if [".bat", ".cmd"].iter().any(|extension| name.trim_end_matches(['.', ' ']).ends_with(extension)) {
        return Err(CommandLineFault::BatchFile);
    }
    let mut line = Vec::new();
    // The program's name has no escapes: it ends at the next quote, which no path contains.
    line.push(QUOTE);
    line.extend(program.encode_wide().filter(|unit| *unit != QUOTE));
    line.push(QUOTE);
    for arg in args {
        line.push(u16::from(b' '));
        quote(arg, &mut line);
    }
    if line.contains(&0) {
        return Err(CommandLineFault::Nul);
    }
    line.push(0);
    Ok(line)
}

/// Backslashes count only before a quote, where each is doubled.
fn quote(arg: &OsStr, line: &mut Vec<u16>) {
    line.push(QUOTE);
    let mut backslashes = 0;
    for unit in arg.encode_wide() {
        if unit == BACKSLASH {
            backslashes += 1;
        } else {
            if unit == QUOTE {
                line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
            }
            backslashes = 0;
        }
        line.push(unit);
    }
    line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
    line.push(QUOTE);
}

/// The variables as `NAME=value` with a NUL each, sorted by name, and one more NUL.
pub fn environment_block(variables: &[(OsString, OsString)]) -> Result<Vec<u16>, CommandLineFault> {
    let mut sorted: Vec<_> = variables.iter().collect();
    sorted.sort_by_key(|(name, _)| name.to_string_lossy().to_uppercase());
    let mut block = Vec::new();
    for (name, value) in sorted {
        if name.is_empty() || name.encode_wide().any(|unit| unit == u16::from(b'=')) {
            return Err(CommandLineFault::VariableName);
        }
        let entry: Vec<u16> =
            name.encode_wide().chain([u16::from(b'=')]).chain(value.encode_wide()).collect();
        if entry.contains(&0) {
            return Err(CommandLineFault::Nul);
        }
        block.extend(entry);
        block.push(0);
    }
    // An empty block has two NULs as well.
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_so_that_they_are_split_again() {
        for (why, arg, want) in [
            ("plain", "x", r#""p.exe" "x""#),
            ("blanks", "a b", r#""p.exe" "a b""#),
            ("nothing", "", r#""p.exe" """#),
            ("a quote", r#"a"b"#, r#""p.exe" "a\"b""#),
            ("backslashes alone stay", r"a\\b", r#""p.exe" "a\\b""#),
            ("before a quote they double", r#"a\"b"#, r#""p.exe" "a\\\"b""#),
            ("and at the end", r"a\", r#""p.exe" "a\\""#),
        ] {
            let line = command_line(OsStr::new("p.exe"), &[arg.into()]).unwrap();
            assert_eq!(String::from_utf16(&line).unwrap(), format!("{want}\0"), "{why}");
        }
    }

    #[test]
    fn what_would_be_parsed_again_is_refused() {
        for name in ["x.bat", "X.CMD", r"C:\dir\x.cmd. "] {
            assert_eq!(command_line(OsStr::new(name), &[]), Err(CommandLineFault::BatchFile), "{name}");
        }
        assert_eq!(command_line(OsStr::new("p"), &["a\0b".into()]), Err(CommandLineFault::Nul));
    }

    #[test]
    fn variables_are_sorted_and_checked() {
        let variables = [("b".into(), "2".into()), ("A".into(), "1".into())];
        let block = environment_block(&variables).unwrap();
        assert_eq!(String::from_utf16(&block).unwrap(), "A=1\0b=2\0\0");
        assert_eq!(environment_block(&[]).unwrap(), [0, 0]);
        for (name, value, want) in [
            ("", "x", CommandLineFault::VariableName),
            ("=C:", "x", CommandLineFault::VariableName),
            ("A", "x\0PATH=y", CommandLineFault::Nul),
        ] {
            assert_eq!(environment_block(&[(name.into(), value.into())]), Err(want), "{name}");
        }
    }
}
