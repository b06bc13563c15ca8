//! Runs texts in the real bash, inside bubblewrap, and says which markers it executed, with which arguments.
//!
//! Invariant: nothing of a text reaches the machine; the file tree is read-only and everything else is unshared.

use std::io::Write;
use std::process::{Command, Stdio};

/// One executed marker: the number of its text, its name, and its arguments.
pub(crate) type Execution = (usize, String, Vec<String>);

/// Every command that is not found is reported on descriptor 9, and fails or succeeds by its number.
const DRIVER: &str = r#"
command_not_found_handle() {
    local IFS=$'\x1f'
    printf '\x1e%s\x1f%s\x1f\x1d' "$TEXT_NUMBER" "$*" >&9
    return $(( ${1: -1} % 2 )) 2>/dev/null
}
export -f command_not_found_handle
ulimit -t 2 -f 1024
cd /tmp
TEXT_NUMBER=-1
export TEXT_NUMBER
while IFS= read -r -d '' text; do
    TEXT_NUMBER=$((TEXT_NUMBER + 1))
    PATH=/nonexistent /usr/bin/timeout -s KILL 2 /bin/bash --noprofile --norc -c "$text" 9>&1 >/dev/null 2>/dev/null </dev/null
done
exit 0
"#;

/// Whether this machine can run texts in bubblewrap; says so loudly when it cannot.
pub(crate) fn is_available() -> bool {
    match run(&["m1 yes".to_owned()]) {
        Ok(executed) if executed == [(0, "m1".to_owned(), vec!["yes".to_owned()])] => true,
        outcome => {
            eprintln!(
                "SKIPPED: bash in bubblewrap does not work here, so nothing is compared with bash: {outcome:?}"
            );
            false
        }
    }
}

/// Runs the texts one after the other, and returns every execution of a marker.
pub(crate) fn run(texts: &[String]) -> Result<Vec<Execution>, String> {
    let mut child = Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"])
        .args(["--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "LC_ALL", "C.UTF-8"])
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

fn executions(output: &str) -> Vec<Execution> {
    let records =
        output.split('\x1e').filter_map(|record| record.split_once("\x1f\x1d")).map(|(record, _)| record);
    let parse = |record: &str| {
        let mut words = record.split('\x1f').map(str::to_owned);
        Some((words.next()?.parse().ok()?, words.next()?, words.collect()))
    };
    records.filter_map(parse).collect()
}
