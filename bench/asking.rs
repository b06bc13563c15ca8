//! A hook that is asked before every call, beside the same question put to the same hook over a bare pipe.
//!
//! What remains after the turn without hooks and the hook's own time are taken off is picoclaw's: words into a frame,
//! the frame to the pipe, the answer read, understood and brought back to the turn that waits.
//!
//! Invariant: every hook is ended and waited for.

use super::Stop;
use super::instance::FILE;
use super::mcp::{Server, line};
use super::measure::Figures;
use super::table::Table;
use super::turns::{CALLS, Stage, TURNS};
use picoclaw_policy::config::HookConfig;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::Command;
use std::time::Instant;

/// The name under which this program is a hook.
pub(crate) const SELF: &str = "agreeing-hook";

/// What a `before_tool` question costs beyond the hook's own time.
pub(crate) fn measured(quiet: &Path, disk: &Path, table: &mut Table) -> Result<(), Stop> {
    let added = added(&quiet.join("asking"))?;
    let what =
        format!("{CALLS} `before_tool` questions in one turn: added to the hook's own time, a question");
    table.told(&what, &added.time());
    table.told("  the same on a disk", &self::added(&disk.join("asking"))?.time());
    Ok(())
}

fn added(home: &Path) -> Result<Figures, Stop> {
    let call = json!({"name": "read_file", "arguments": {"path": FILE}});
    let program = std::env::current_exe()?;
    let command = program.to_str().ok_or("a path that is no text")?.to_owned();
    let alone = Stage::set(&home.join("alone"), &call, |_| {})?;
    let asked = Stage::set(&home.join("asked"), &call, |config| {
        config.hooks.processes = vec![HookConfig {
            name: "agrees".to_owned(),
            enabled: true,
            priority: 0,
            command: vec![command, SELF.to_owned()],
            dir: None,
            env: Vec::new(),
            observe: Vec::new(),
            intercept: vec!["before_tool".to_owned()],
        }];
    })?;
    #[expect(clippy::disallowed_types, reason = "as above")]
    let mut bare = Command::new(&program);
    bare.arg(SELF);
    let mut bare = Server::start(bare)?;
    // As long as picoclaw's own, so that the pipe and the hook's reader have as much to do.
    let meta = json!({"Source": "turn", "AgentID": "main", "SessionKey": "timed-0", "TurnID": "turn-12345-1", "Iteration": 1});
    let params = json!({"meta": meta, "tool": "read_file", "arguments": {"path": FILE}});
    let ask = line(&json!({"jsonrpc": "2.0", "id": 1, "method": "hook.before_tool", "params": params}));
    let mut added = Vec::with_capacity(TURNS);
    for turn in 0..TURNS {
        let began = Instant::now();
        for _ in 0..CALLS {
            bare.turn(&ask)?;
        }
        alone.turn(&format!("timed-{turn}"))?;
        let without = began.elapsed().as_nanos() as f64;
        let began = Instant::now();
        asked.turn(&format!("timed-{turn}"))?;
        added.push((began.elapsed().as_nanos() as f64 - without) / CALLS as f64);
    }
    Ok(Figures::new(added))
}

/// The hook: agrees with everything.
pub(crate) fn agree() -> Result<(), Stop> {
    let mut output = std::io::stdout().lock();
    for ask in std::io::stdin().lock().lines() {
        let ask: Value = serde_json::from_str(&ask?)?;
        let Some(id) = ask.get("id") else { continue };
        output.write_all(&line(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": "continue"}})))?;
        output.flush()?;
    }
    Ok(())
}
