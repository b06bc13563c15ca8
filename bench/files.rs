//! Opening, reading and deciding: what looking before touching costs.
//!
//! Invariant: picoclaw and peer open the same file, and both close it.

use super::Stop;
use super::instance::{BenchInstance, FILE, file_system};
use super::measure::{Clock, alone, take_turns, time};
use super::peers;
use super::table::Table;
use picoclaw_agent::call::Call;
use picoclaw_policy::{Access, CleanPath, FileKind, Intent, PathLocation, Route, Target, Verdict};
use picoclaw_sandbox::ledger::{Entry, Ledger};
use picoclaw_sandbox::root::{ProtectedInodes, Root};
use rustix::fs::CWD;
use serde_json::json;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

const ROUNDS: usize = 1000;

/// Files at several depths: the deeper, the more of the time is the kernel's own walk.
const DEPTHS: &[&str] = &["today.md", FILE, "a/b/c/d/e/f/today.md"];

/// Resolving and opening through a [`Root`] against a plain `open`.
pub(crate) fn opening(instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let root = Root::open(&instance.workspace)?;
    let protected = ProtectedInodes::of(&instance.zones);
    let dir = peers::directory(&instance.workspace)?;
    for file in DEPTHS {
        instance.call("write_file", json!({"path": file, "content": "x"}))?;
        let (below, full) = (Path::new(file), instance.workspace.join(file));
        let figures = take_turns(
            Clock::Wall,
            ROUNDS,
            &mut [
                &mut || {
                    black_box(root.locate(black_box(below), Access::Read, &protected)?);
                    Ok(())
                },
                &mut || black_box(peers::open(&dir, black_box(below))).map(drop),
                &mut || black_box(peers::open(CWD, black_box(&full))).map(drop),
                &mut || {
                    // Where the kernel lacks it, the row below says so.
                    let _ = black_box(peers::open_beneath(&dir, black_box(below)));
                    Ok(())
                },
            ],
        )?;
        let [own, beneath, absolute, kernel] = &figures[..] else { return Err("four contestants".into()) };
        let ratio = own.over(absolute);
        let (own_time, peer_time) = (time(own.median()), time(absolute.median()));
        let what = format!("open `{file}` through a Root / plain `open` ({own_time} / {peer_time})");
        table.told(&what, &ratio.times());
        table.told("  … / `openat` from a held directory", &own.over(beneath).times());
        let what = "  … / the kernel's part: `openat2` beneath it and `fstat`";
        match peers::open_beneath(&dir, below) {
            Ok(_) => table.told(what, &own.over(kernel).times()),
            Err(why) => table.skipped(what, &why.to_string()),
        }
    }
    Ok(())
}

/// A whole `read_file` call against the bare read, and the ledger's part of it.
pub(crate) fn reading(
    instance: &BenchInstance,
    lived_in: &BenchInstance,
    table: &mut Table,
) -> Result<(), Stop> {
    for (instance, rounds) in [(instance, ROUNDS), (lived_in, ROUNDS / 2)] {
        let call = Call {
            tool: "read_file".to_owned(),
            arguments: json!({"path": FILE}),
            subject: instance.subject.clone(),
        };
        let full = instance.workspace.join(FILE);
        let figures = take_turns(
            Clock::Wall,
            rounds,
            &mut [&mut || instance.walk(black_box(&call)).map(|text| drop(black_box(text))), &mut || {
                peers::read(black_box(&full)).map(|bytes| drop(black_box(bytes)))
            }],
        )?;
        let [own, bare] = &figures[..] else { return Err("two contestants".into()) };
        let over = own.less(bare);
        let on = file_system(&instance.home);
        let what =
            format!("`read_file` call over the bare read of 4 KiB, {on} (bare: {})", time(bare.median()));
        table.told(&what, &over.time());
    }
    let ledger = Ledger::open(&instance.home.join("ledger-alone"))?;
    let grant = picoclaw_policy::Grant { rule: "workspace".to_owned() };
    let decided = Entry::decided(
        &instance.subject,
        "read_file",
        "read /a/workspace/notes/today.md",
        &Verdict::Allow(grant),
    );
    let finished = decided.clone().finished("ok", Duration::from_micros(31));
    let pair = alone(Clock::Wall, ROUNDS, &mut || {
        ledger.append(std::slice::from_ref(&decided))?;
        Ok(ledger.append(std::slice::from_ref(&finished))?)
    })?;
    table.told("  of which the ledger's two records", &pair.time());
    Ok(())
}

/// A path decision: from the text to where it may be looked up, and from the facts to the verdict.
pub(crate) fn deciding(instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let policy = instance.warden.policy();
    let path = |text: &str| CleanPath::absolute(Path::new(text)).ok_or("not a path");
    let own = path(&instance.workspace.join(FILE).to_string_lossy())?;
    let rows = [
        ("in the workspace", own, PathLocation::Workspace),
        ("opened by a rule", path("/usr/share/doc/bash/README")?, PathLocation::NotLookedUp),
        ("refused", path("/etc/passwd")?, PathLocation::NotLookedUp),
    ];
    for (what, asked, landing) in rows {
        let decided = alone(Clock::Processor, ROUNDS, &mut || {
            let route = policy.route(Access::Read, black_box(&asked), &instance.subject);
            let landing = match &route {
                Route::Host => PathLocation::Host { resolved: asked.as_path().to_owned(), links: Vec::new() },
                _ => landing.clone(),
            };
            let target =
                Target { asked: asked.clone(), location: landing, kind: FileKind::Regular, resolved: None };
            let verdict = policy.judge(&Intent::Read(target), &instance.subject);
            let _ = black_box((route, verdict));
            Ok(())
        })?;
        table.told(&format!("a path decision, {what}"), &decided.time());
    }
    Ok(())
}
