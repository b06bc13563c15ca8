//! Following the ledger, whoever writes to it: this gateway, or a command beside it.
//!
//! Invariant: each record is put up once, in the order of the chain.

use super::gate::Gate;
use picoclaw_sandbox::ledger::{LedgerError, Reader, Records};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// How often to look.
const LOOK: Duration = Duration::from_millis(200);

/// The most at one look, so that others have their turn.
const AT_ONCE: usize = 256;

/// Follows until it is dropped.
pub(super) async fn follow(gate: Arc<Gate>) {
    let mut records = open(&gate, 0);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        // A ledger that has only now been made is new from its first record on.
        if records.is_none() {
            records = open(&gate, u64::MAX);
        }
        let Some(found) = &mut records else { continue };
        if let Err(why) = look(&gate, found) {
            tracing::error!(target: "gateway", error = %why, "The ledger cannot be followed; new records are");
            records = open(&gate, 0);
        }
    }
}

fn look(gate: &Gate, records: &mut Records) -> Result<(), LedgerError> {
    for _ in 0..AT_ONCE {
        let Some(stored) = records.next()? else { break };
        if let Ok(record) = &stored.record {
            if record.phase == "decided" {
                gate.counts.verdict(&record.verdict);
            }
            gate.bulletin.record(record.seq, &stored.text);
        }
    }
    Ok(())
}

fn open(gate: &Gate, count: u64) -> Option<Records> {
    Reader::open(&gate.ledger()).ok().flatten().and_then(|reader| reader.last(count).ok())
}

/// The last records, each with its number; after `since`, when it is given.
pub(super) fn last(gate: &Gate, count: u64, since: Option<u64>) -> Vec<(u64, String)> {
    let Some(mut records) = open(gate, count) else { return Vec::new() };
    let mut found = Vec::new();
    while let Ok(Some(stored)) = records.next() {
        if let Ok(record) = &stored.record
            && since.is_none_or(|since| record.seq > since)
        {
            found.push((record.seq, stored.text));
        }
    }
    found
}
