//! Durable writes: the time beside the bare sequence.
//!
//! Invariant: every write is synced, file and directory, before its turn is over.

use super::Stop;
use super::instance::{BenchInstance, FILE, content, file_system};
use super::measure::{Clock, take_turns, time};
use super::peers;
use super::table::Table;
use picoclaw_agent::call::Call;
use picoclaw_policy::Access;
use picoclaw_sandbox::root::{Overwrite, ProtectedInodes, Root, WriteContext};
use serde_json::json;
use std::path::Path;

/// Replaces a file of 4 KiB: the bare sequence, a Root alone, the whole call.
pub(crate) fn timed(
    instance: &BenchInstance,
    lived_in: &BenchInstance,
    table: &mut Table,
) -> Result<(), Stop> {
    for (instance, rounds) in [(instance, 1000), (lived_in, 200)] {
        let text = content();
        let call = Call {
            tool: "write_file".to_owned(),
            arguments: json!({"path": FILE, "content": text}),
            subject: instance.subject.clone(),
        };
        let root = Root::open(&instance.workspace)?;
        let write_context = WriteContext::new(&instance.locks, WriteContext::LOCK_TIMEOUT)?;
        let protected = ProtectedInodes::of(&instance.zones);
        let below = instance.workspace.join("notes");
        let figures = take_turns(
            Clock::Wall,
            rounds,
            &mut [
                &mut || peers::replace(&peers::directory(&below)?, "bare.md", text.as_bytes()),
                &mut || {
                    let place = root.locate(Path::new(FILE), Access::Write, &protected)?;
                    Ok(place.write(text.as_bytes(), Overwrite::Yes, &write_context)?)
                },
                &mut || instance.walk(&call).map(drop),
            ],
        )?;
        let [bare, root, whole] = &figures[..] else { return Err("three contestants".into()) };
        let on = file_system(&instance.home);
        table.told(&format!("a durable write of 4 KiB, {on}: the bare sequence"), &bare.time());
        table.told(&format!("  through a Root ({})", time(root.median())), &root.over(bare).times());
        table.told(
            &format!("  as a whole `write_file` call ({})", time(whole.median())),
            &whole.over(bare).times(),
        );
    }
    Ok(())
}
