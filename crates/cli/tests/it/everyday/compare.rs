//! The tasks on the host, in the cage, in plain bubblewrap and in sandbox-runtime, for
//! `docs/everyday.md`.

use super::{Place, Task, instance, is_installed, tasks};
use crate::mcp::peers::peer;
use crate::test_instance::{Ran, TestInstance};
use std::fmt::Write;
use std::path::PathBuf;

/// The program of sandbox-runtime, if it was fetched and finds what it needs.
pub(super) fn sandbox_runtime() -> Option<PathBuf> {
    let needs = ["node", "bwrap", "rg", "socat"];
    let missing = needs.iter().find(|program| !is_installed(program));
    if let Some(missing) = missing {
        picoclaw_testing::skip!("sandbox-runtime: {missing} is not installed");
        return None;
    }
    peer("srt/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js")
}

/// The columns of the table; that of sandbox-runtime only where it is there.
fn places() -> Vec<(Place, &'static str)> {
    let mut places = vec![(Place::Cage, "cage"), (Place::CageWithFlag, "cage with the flag")];
    if is_installed("bwrap") {
        places.push((Place::Bubblewrap, "bubblewrap"));
    }
    if sandbox_runtime().is_some() {
        places.push((Place::SandboxRuntime, "sandbox-runtime"));
    }
    places
}

/// The last line that a failed task printed, without the paths of this machine.
fn said(ran: &Ran, instance: &TestInstance) -> String {
    let text = if ran.stderr.trim().is_empty() { &ran.stdout } else { &ran.stderr };
    let mut line = text.trim().lines().last().unwrap_or("nothing").to_owned();
    let peers = std::env::var_os("PICOCLAW_TEST_PEERS").map(PathBuf::from);
    let own = [Some(instance.dir().to_path_buf()), std::env::home_dir(), peers];
    for path in own.into_iter().flatten() {
        line = line.replace(path.to_str().unwrap(), "…");
    }
    let line: String = line.chars().filter(|c| !c.is_control()).take(160).collect();
    format!("exit {}: {}", ran.code, line.replace('|', "\\|"))
}

#[test]
#[ignore = "takes minutes and compares with programs of others: `make everyday` runs it"]
fn compare() {
    let Some(instance) = instance() else { return };
    let out = std::env::var_os("PICOCLAW_EVERYDAY").expect("the file for the table");
    let places = places();
    let (mut rows, mut failures, mut left_out) = (String::new(), String::new(), String::new());
    let mut passed = vec![0; places.len()];
    let mut compared = 0;
    for task in tasks() {
        if let Some(why) = cannot(&task, &instance) {
            let _ = writeln!(left_out, "- {}: {why}", task.name);
            continue;
        }
        compared += 1;
        let _ = write!(rows, "| {} |", task.name);
        for ((place, name), passed) in places.iter().zip(&mut passed) {
            if *place == Place::CageWithFlag && task.flag.is_none() {
                // What passes with no flag needs none.
                *passed += usize::from(rows.ends_with(" yes |"));
                rows.push_str(" |");
                continue;
            }
            let ran = task.run(&instance, *place);
            let flag = task.flag.as_deref().filter(|_| *place == Place::CageWithFlag);
            let flag = flag.map(|flag| format!(" (`{flag}`)")).unwrap_or_default();
            if ran.code == 0 {
                *passed += 1;
                let _ = write!(rows, " yes{flag} |");
            } else {
                let _ = write!(rows, " no{flag} |");
                let _ = writeln!(failures, "| {} | {name} | {} |", task.name, said(&ran, &instance));
            }
        }
        rows.push('\n');
    }
    let heads: Vec<_> = places.iter().map(|(_, name)| *name).collect();
    let sums: Vec<_> = passed.iter().map(usize::to_string).collect();
    let line = "---|".repeat(places.len());
    let text = format!(
        "{compared} tasks pass on the host.\n\n| task | {} |\n|---|{line}\n| **all** | {} |\n{rows}\n\
         ### What the failures said\n\n| task | where | last line |\n|---|---|---|\n{failures}\n\
         ### Not compared\n\n{left_out}",
        heads.join(" | "),
        sums.join(" | ")
    );
    std::fs::write(out, text).unwrap();
}

/// Why a task is not compared.
fn cannot(task: &Task, instance: &TestInstance) -> Option<String> {
    if let Some(missing) = task.needs.iter().find(|program| !is_installed(program)) {
        return Some(format!("{missing} is not installed"));
    }
    let host = task.run(instance, Place::Host);
    (host.code != 0).then(|| format!("it fails on the host, with exit code {}", host.code))
}
