//! A long call's output on its way to the client, as progress.
//!
//! Invariant: bounded in rate and size; a client that reads slowly slows nobody down.

use crate::executor::Watcher;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver};

/// The shortest time between two notifications.
const PACE: Duration = Duration::from_millis(100);

/// The most that one notification tells.
const MOST: usize = 4 << 10;

/// Lines that may wait; what comes faster is counted instead.
const WAITING: usize = 256;

/// Nobody listens.
pub(super) fn unwatched() -> Watcher {
    Arc::new(|_: &[u8]| {})
}

/// What hears the lines, and what passes them on.
pub(super) fn watched(peer: Peer<RoleServer>, token: ProgressToken) -> (Watcher, Pump) {
    let (sender, lines) = mpsc::channel(WAITING);
    // A line that finds no room is missing from the progress, never from the answer.
    let watcher: Watcher = Arc::new(move |line: &[u8]| {
        let _ = sender.try_send(String::from_utf8_lossy(line).into_owned());
    });
    (watcher, Pump { peer, token, lines, told: 0 })
}

/// Passes lines on.
pub(super) struct Pump {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    lines: Receiver<String>,
    /// How many lines were heard: the number that must grow.
    told: u64,
}

impl Pump {
    /// Runs until nothing can come any more.
    pub(super) async fn run(mut self) {
        while let Some(line) = self.lines.recv().await {
            self.told += 1;
            let mut message = line;
            while let Ok(line) = self.lines.try_recv() {
                self.told += 1;
                if message.len() < MOST {
                    message.push_str(&line);
                }
            }
            self.tell(message).await;
            tokio::time::sleep(PACE).await;
        }
    }

    async fn tell(&self, mut message: String) {
        if message.len() > MOST {
            let cut = (0..=MOST).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(cut);
            message.push('…');
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of lines stays far below 2^53")]
        let progress = self.told as f64;
        let told = ProgressNotificationParam::new(self.token.clone(), progress)
            .with_message(message.trim_end_matches('\n'));
        // A client that is gone hears of nothing; the call itself learns so in another way.
        let _ = self.peer.notify_progress(told).await;
    }
}
