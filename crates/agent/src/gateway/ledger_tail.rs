//! Follows the ledger, written by this process or by another one of the instance, and publishes
//! each record once, in order.

use super::server::Gateway;
use picoclaw_sandbox::ledger::{LedgerError, Reader, Records};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// How often the ledger is read.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Records published at once, so that other tasks get to run.
const MAX_RECORDS_PER_POLL: usize = 256;

/// Follows the ledger until it is dropped.
pub(super) async fn follow(gateway: Arc<Gateway>) {
    let mut records = open(&gateway, 0);
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Of a ledger that did not exist before, every record is new.
        if records.is_none() {
            records = open(&gateway, u64::MAX);
        }
        let Some(found) = &mut records else { continue };
        if let Err(why) = publish(&gateway, found) {
            tracing::error!(target: "gateway", error = %why, "The ledger cannot be followed; new records are");
            records = open(&gateway, 0);
        }
    }
}

fn publish(gateway: &Gateway, records: &mut Records) -> Result<(), LedgerError> {
    for _ in 0..MAX_RECORDS_PER_POLL {
        let Some(stored) = records.next()? else { break };
        if let Ok(record) = &stored.record {
            if record.phase == "decided" {
                gateway.counters.verdict(&record.verdict);
            }
            gateway.events.publish_record(record.seq, &stored.text);
        }
    }
    Ok(())
}

fn open(gateway: &Gateway, count: u64) -> Option<Records> {
    Reader::open(&gateway.ledger()).ok().flatten().and_then(|reader| reader.last(count).ok())
}

/// The last `count` records with their numbers; only those after `since`, when it is given.
pub(super) fn last(gateway: &Gateway, count: u64, since: Option<u64>) -> Vec<(u64, String)> {
    let Some(mut records) = open(gateway, count) else { return Vec::new() };
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
