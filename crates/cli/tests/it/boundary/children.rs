//! Programs of the operator's, which make no calls: a probe in the place of each.

use super::row::Row;
use super::site::{Isolation, Site};
use picoclaw_testing::wait_for;
use std::process::Stdio;

/// The programs beside one turn: its hook, its server, its model.
pub(super) fn beside_a_turn(isolation: Isolation) -> Vec<Row> {
    let mut site = Site::new(isolation, "c", &["hook", "server", "provider"]);
    let ran = site.instance.run(&["agent", "-m", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
    [
        ("a hook", "hook", "hooks/probe"),
        ("an MCP server", "server", "mcp/probe"),
        ("a command-line model", "provider", "providers/claude-cli"),
    ]
    .into_iter()
    .map(|(name, place, principal)| {
        let mut row = Row::new(name);
        row.see("ledger", !site.is_recorded(&format!("start {principal} in")));
        let own = site.own_home(principal);
        row.see_all(site.reached(place, &own));
        row
    })
    .collect()
}

/// `picoclaw run`.
pub(super) fn run(isolation: Isolation) -> Row {
    let mut site = Site::new(isolation, "s", &["run"]);
    let project = site.instance.dir().join("project");
    let workspace = project.to_str().unwrap();
    let ran = site.instance.run(&["run", "--workspace", workspace, "--", "python3", "probe.py", "run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut row = Row::new("a command under `picoclaw run`");
    row.see("ledger", !site.is_recorded("python3 probe.py run"));
    row.see_all(site.reached("run", &project));
    row
}

/// `picoclaw mcp wrap`.
pub(super) fn wrap(isolation: Isolation) -> Row {
    let mut site = Site::new(isolation, "s", &["wrapped"]);
    let probe = site.instance.dir().join("opt/probe.py");
    let line =
        ["mcp", "wrap", "--name", "probe", "--", "/usr/bin/python3", probe.to_str().unwrap(), "wrapped"];
    let mut wrapped = site.instance.command(&line);
    let wrapped = wrapped.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut wrapped = wrapped.spawn().unwrap();
    let own = site.own_home("mcp/probe");
    // It serves until its host leaves.
    wait_for("the probe in the wrap", || own.join("observed-wrapped").exists().then_some(()));
    drop(wrapped.stdin.take());
    assert!(wrapped.wait().unwrap().success());
    let mut row = Row::new("a server under `picoclaw mcp wrap`");
    row.see("ledger", !site.is_recorded("probe.py wrapped"));
    row.see_all(site.reached("wrapped", &own));
    row
}

/// The same probe, with nothing around it.
pub(super) fn control() -> Row {
    let mut site = Site::new(Isolation::Off, "s", &["control"]);
    let mut row = Row::new("control: the same probe without picoclaw");
    row.see_all(site.control());
    row
}
