//! Runs texts in a real shell, inside bubblewrap, and returns the executed markers with their
//! arguments.
//!
//! The file tree is read-only and everything else is unshared.

use picoclaw_policy::shell::Dialect;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// One executed marker: the number of its text, its name, and its arguments.
pub(crate) type Execution = (usize, String, Vec<String>);

/// Maximum number of markers of one batch: each is a program for shells without a hook.
pub(crate) const MARKERS: usize = 6000;

/// Runs each text of its input. Bash reports every command that it does not find on descriptor 9,
/// and continues as if it had failed or succeeded, by the number of the marker.
const DRIVER: &str = r#"
command_not_found_handle() {
    local IFS=$'\x1f'
    printf '\x1e%s\x1f%s\x1f\x1d' "$TEXT_NUMBER" "$*" >&9
    return $(( ${1: -1} % 2 )) 2>/dev/null
}
export -f command_not_found_handle
ulimit -t 2 -f 1024
shopt -s nullglob dotglob
mkdir /tmp/here
cd /tmp/here
TEXT_NUMBER=-1
export TEXT_NUMBER
while IFS= read -r -d '' text; do
    TEXT_NUMBER=$((TEXT_NUMBER + 1))
    PATH=$MARKER_PATH /usr/bin/timeout -s KILL 2 $SHELL_UNDER_TEST -c "$text" 9>&1 >/dev/null 2>/dev/null </dev/null
    left=(*)
    [ ${#left[@]} = 0 ] || /bin/rm -rf "$PWD"/*
done
exit 0
"#;

/// The same report, as a program that every marker is a link to.
const MARKER: &str = r#"#!/bin/sh
name=${0##*/}
report=$(printf '\036%s\037%s' "$TEXT_NUMBER" "$name"; for argument; do printf '\037%s' "$argument"; done; printf '\037\035')
printf '%s' "$report" >&9
case $name in *[13579]) exit 1;; esac
"#;

/// Where a shell finds the programs of the markers.
const MARKER_PATH: &str = "/tmp/markers";

/// A shell to compare the parser with.
pub(crate) struct Shell {
    command: String,
    markers: TempDir,
}

impl Shell {
    /// The shell of a dialect, if this machine has it and bubblewrap; prints a message otherwise.
    pub(crate) fn of(dialect: Dialect) -> Option<Self> {
        let bash = std::env::var("PICOCLAW_SHELL_BASH").unwrap_or_else(|_| "/bin/bash".to_owned());
        let (command, count) = match dialect {
            Dialect::Bash => (format!("{bash} --noprofile --norc"), 0),
            Dialect::Posix => ("/usr/bin/dash".to_owned(), MARKERS + 1),
            Dialect::PowerShell => return None,
        };
        let markers = marker_programs(count)
            .map_err(|error| picoclaw_testing::skip!("the programs of the markers cannot be made: {error}"))
            .ok()?;
        let shell = Self { command, markers };
        match shell.run(&["m2 yes".to_owned()]) {
            Ok(executed) if executed == [(0, "m2".to_owned(), vec!["yes".to_owned()])] => Some(shell),
            outcome => {
                picoclaw_testing::skip!("`{}` in bubblewrap does not work here: {outcome:?}", shell.command);
                None
            }
        }
    }

    /// Runs the texts one after the other, and returns every execution of a marker.
    pub(crate) fn run(&self, texts: &[String]) -> Result<Vec<Execution>, String> {
        let mut child = Command::new("bwrap")
            .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"])
            .args(["--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "LC_ALL", "C.UTF-8"])
            .args(["--setenv", "SHELL_UNDER_TEST", &self.command, "--setenv", "MARKER_PATH", MARKER_PATH])
            .arg("--ro-bind")
            .args([self.markers.path(), Path::new(MARKER_PATH)])
            .args(["/bin/bash", "--noprofile", "--norc", "-c", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("bwrap: {error}"))?;
        let mut input = child.stdin.take().ok_or("no pipe")?;
        let bytes: Vec<u8> = texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let feeder = std::thread::spawn(move || input.write_all(&bytes));
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        feeder.join().map_err(|_| "the feeder failed")?.map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("bwrap ended with {}", output.status));
        }
        Ok(executions(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// A directory with programs for this many markers.
fn marker_programs(count: usize) -> std::io::Result<TempDir> {
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("marker");
    std::fs::write(&program, MARKER)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    for number in 0..count {
        symlink("marker", directory.path().join(format!("m{number}")))?;
    }
    Ok(directory)
}

fn executions(output: &str) -> Vec<Execution> {
    let records =
        output.split('\x1e').filter_map(|record| record.split_once("\x1f\x1d")).map(|(record, _)| record);
    let parse = |record: &str| {
        let mut words = record.split('\x1f').map(str::to_owned);
        Some((words.next()?.parse().ok()?, words.next()?, words.collect()))
    };
    records.filter_map(parse).collect()
}
