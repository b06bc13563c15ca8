//! What our second stage does inside bubblewrap, and what the supervisor does outside.

use crate::support::{Instance, instance};
use picoclaw_policy::config::ExposeMode;
use picoclaw_sandbox::isolate::{Backend, Cage, Confinement, find_bwrap};
use picoclaw_sandbox::launch::{Deadline, Status, run_to_end};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

fn confinement(place: &Instance) -> Option<Confinement> {
    let Some(bwrap) = find_bwrap(OsStr::new("/usr/bin:/bin")) else {
        picoclaw_testing::skip!("bubblewrap is not installed");
        return None;
    };
    let cage = Cage::new(place.plan().expect("a plan"), Backend::Bwrap(bwrap)).expect("a cage");
    Some(Confinement::Cage(Arc::new(cage)))
}

#[test]
fn a_command_that_cannot_be_executed_ends_as_in_any_shell() {
    let place = instance();
    let Some(confinement) = confinement(&place) else { return };
    let text = place.workspace.join("text");
    std::fs::write(&text, "no program").expect("a file");
    let outside = place.outside.join("program");
    std::fs::copy("/bin/true", &outside).expect("a copy");
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    for (why, program, want) in [
        ("it runs", PathBuf::from("/bin/true"), 0),
        ("its own code is its own", PathBuf::from("/bin/false"), 1),
        ("not a program", text, 126),
        ("on the host, and not in the cage", outside, 127),
    ] {
        let mut spec = place.spec(":", confinement.clone());
        spec.argv = vec![program.clone().into_os_string()];
        spec.program = program;
        assert_eq!(run_to_end(spec).expect("bubblewrap starts").status, Status::Exited(want), "{why}");
    }
}

#[test]
fn what_a_dynamic_loader_obeys_reaches_the_command_alone() {
    let place = instance();
    let Some(confinement) = confinement(&place) else { return };
    // Every dynamically linked program that has these writes such a file; in the cage there is no such directory.
    let trace = place.outside.join("trace");
    let variables = [("LD_DEBUG", "libs".into()), ("LD_DEBUG_OUTPUT", trace.clone().into_os_string())];
    let traces = || {
        let entries = std::fs::read_dir(&place.outside).expect("a directory");
        entries
            .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path() != place.outside.join("victim")))
            .count()
    };
    let mut spec = place.spec("echo $LD_DEBUG $LD_DEBUG_OUTPUT", confinement);
    spec.environment.extend(variables.clone().map(|(name, value)| (name.into(), value)));
    let finished = run_to_end(spec).expect("bubblewrap starts");
    // Without such a directory the trace is on standard output.
    let said = finished.stdout.to_text();
    assert!(said.lines().any(|line| line == format!("libs {}", trace.display())), "{said}");
    assert_eq!(traces(), 0, "bubblewrap obeyed");
    let mut control = std::process::Command::new("bwrap");
    control.args(["--ro-bind", "/", "/", "true"]).envs(variables);
    assert!(control.status().is_ok_and(|status| status.success()) && traces() > 0, "the control");
}

#[test]
fn walls_that_bubblewrap_cannot_build_are_125() {
    let mut place = instance();
    let shown = place.outside.join("vanishing");
    std::fs::create_dir(&shown).expect("a directory");
    place.expose(&shown, &PathBuf::from("/vanishing"), ExposeMode::ReadOnly);
    let Some(confinement) = confinement(&place) else { return };
    let run = || run_to_end(place.spec("exit 7", confinement.clone())).expect("bubblewrap starts");
    assert_eq!(run().status, Status::Exited(7), "the control: while it is there");
    std::fs::remove_dir(&shown).expect("it goes");
    let finished = run();
    assert_eq!(finished.status, Status::Exited(125), "{}", finished.stderr.to_text());
}

#[test]
fn everybody_in_the_walls_may_say_goodbye() {
    let place = instance();
    let Some(confinement) = confinement(&place) else { return };
    // Bubblewrap ends everybody else as soon as the command has ended, so the command waits for the other.
    let line = "(trap 'echo second; exit 0' TERM; sleep 100 & wait) & other=$!; \
                trap 'echo first; wait $other; exit 0' TERM; sleep 100 & wait";
    let mut spec = place.spec(line, confinement);
    spec.deadline = Deadline::After(Duration::from_secs(5));
    let finished = run_to_end(spec).expect("bubblewrap starts");
    assert_eq!(finished.status, Status::TimedOut);
    let said = finished.stdout.to_text();
    assert!(said.contains("first") && said.contains("second"), "{said}");
}

#[test]
fn the_number_of_processes_is_limited_inside() {
    let mut place = instance();
    place.isolation.limits.processes = 20;
    let Some(confinement) = confinement(&place) else { return };
    let line = "ulimit -u 2>/dev/null || ulimit -p";
    let finished = run_to_end(place.spec(line, confinement)).expect("bubblewrap starts");
    assert_eq!(finished.stdout.to_text().trim(), "20", "{}", finished.stderr.to_text());
}
