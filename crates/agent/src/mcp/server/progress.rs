//! Sends a running call's output as progress notifications, bounded in rate and size. A slow client
//! misses lines; the call is not delayed.

use crate::executor::Watcher;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver};

/// The shortest time between two notifications.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(100);

/// The largest message of a notification.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// Lines that may wait; later ones are dropped.
const MAX_QUEUED_LINES: usize = 256;

/// A watcher that ignores the output.
pub(super) fn unwatched() -> Watcher {
    Arc::new(|_: &[u8]| {})
}

/// A watcher and the task that sends its lines to the client.
pub(super) fn watched(peer: Peer<RoleServer>, token: ProgressToken) -> (Watcher, ProgressSender) {
    let (sender, lines) = mpsc::channel(MAX_QUEUED_LINES);
    // A dropped line is missing from the progress, not from the result.
    let watcher: Watcher = Arc::new(move |line: &[u8]| {
        let _ = sender.try_send(String::from_utf8_lossy(line).into_owned());
    });
    (watcher, ProgressSender { peer, token, lines, count: 0 })
}

/// Sends lines to the client.
pub(super) struct ProgressSender {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    lines: Receiver<String>,
    /// The number of lines so far; `progress` must increase.
    count: u64,
}

impl ProgressSender {
    /// Runs until the watcher is dropped.
    pub(super) async fn run(mut self) {
        while let Some(line) = self.lines.recv().await {
            self.count += 1;
            let mut message = line;
            while let Ok(line) = self.lines.try_recv() {
                self.count += 1;
                if message.len() < MAX_MESSAGE_BYTES {
                    message.push_str(&line);
                }
            }
            self.notify(message).await;
            tokio::time::sleep(NOTIFICATION_INTERVAL).await;
        }
    }

    async fn notify(&self, mut message: String) {
        if message.len() > MAX_MESSAGE_BYTES {
            let cut = (0..=MAX_MESSAGE_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(cut);
            message.push('…');
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of lines stays far below 2^53")]
        let progress = self.count as f64;
        let params = ProgressNotificationParam::new(self.token.clone(), progress)
            .with_message(message.trim_end_matches('\n'));
        // A disconnected client cancels the call elsewhere.
        let _ = self.peer.notify_progress(params).await;
    }
}
