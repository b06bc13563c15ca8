//! Hot reload: polls the configuration files and reloads when they have changed.

use picoclaw_agent::gateway::Gateway;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often the files are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// How long a file must stay unchanged before it is read, so that no half-written one is.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// Modification time and size of each file.
type Stamps = Vec<Option<(SystemTime, u64)>>;

/// Watches these files; reloads while `gateway.hot_reload` is set.
pub(super) async fn watch(gateway: Arc<Gateway>, paths: [PathBuf; 2]) {
    let mut known = stamps(&paths);
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let mut now = stamps(&paths);
        if now == known {
            continue;
        }
        loop {
            tokio::time::sleep(SETTLE_TIME).await;
            let again = stamps(&paths);
            if again == now {
                break;
            }
            now = again;
        }
        known = now;
        if gateway.services().config.gateway.hot_reload {
            // The result is logged.
            drop(gateway.reload().await);
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Stamps {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    paths.iter().map(stamp).collect()
}
