//! Hot reload: files that changed are read again.
//!
//! Invariant: files are read when they have been left alone for a moment, so that no half-written one is.

use picoclaw_agent::gateway::Gate;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often to look.
const LOOK: Duration = Duration::from_secs(2);

/// How long a file must have been left alone.
const SETTLE: Duration = Duration::from_millis(500);

type Seen = Vec<Option<(SystemTime, u64)>>;

/// Watches these files, as long as `gateway.hot_reload` says so.
pub(super) async fn files(gate: Arc<Gate>, paths: [PathBuf; 2]) {
    let mut known = look(&paths);
    loop {
        tokio::time::sleep(LOOK).await;
        let mut now = look(&paths);
        if now == known {
            continue;
        }
        loop {
            tokio::time::sleep(SETTLE).await;
            let again = look(&paths);
            if again == now {
                break;
            }
            now = again;
        }
        known = now;
        if gate.staff().config.gateway.hot_reload {
            // What came of it is logged; the next change is another try.
            drop(gate.reload().await);
        }
    }
}

fn look(paths: &[PathBuf]) -> Seen {
    let one = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    paths.iter().map(one).collect()
}
