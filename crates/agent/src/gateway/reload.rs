//! Reloading: another staff in place of the one there is.
//!
//! Invariant: either everything is new, hooks and servers too, or everything is as it was; which one is said.

use super::duties;
use super::gate::Gate;
use super::staff::Staff;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Makes a staff from what the files say now, or says why there can be none.
pub type Reload = Arc<dyn Fn() -> Result<Staff, String> + Send + Sync>;

/// How often to see whether the turns of an old staff are over.
const LOOK: Duration = Duration::from_millis(200);

/// Why nothing was reloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// Somebody else does it.
    #[error("a reload is under way already")]
    Busy,
    /// What the files say cannot be used.
    #[error("{0}; everything stays as it was")]
    Kept(String),
}

impl Gate {
    /// Reloads, or says why everything stays as it was.
    pub async fn reload(self: &Arc<Self>) -> Result<(), ReloadError> {
        let Ok(_alone) = self.reloading.try_lock() else { return Err(ReloadError::Busy) };
        let tried = self.try_reload().await;
        match &tried {
            Ok(()) => {
                self.counts.reload("done");
                tracing::info!(target: "gateway", "Reloaded: new turns follow the new configuration");
                self.bulletin.tell("reload", &json!({"ok": true}));
            }
            Err(why) => {
                self.counts.reload("failed");
                tracing::error!(target: "gateway", error = %why, "Not reloaded");
                self.bulletin.tell("reload", &json!({"ok": false, "error": why.to_string()}));
            }
        }
        tried
    }

    async fn try_reload(self: &Arc<Self>) -> Result<(), ReloadError> {
        let make = Arc::clone(&self.reload);
        let made = tokio::task::spawn_blocking(move || make()).await;
        let staff = made.map_err(|why| ReloadError::Kept(why.to_string()))?.map_err(ReloadError::Kept)?;
        staff.check().map_err(|why| ReloadError::Kept(format!("{why}; {}", why.hint())))?;
        duties::equip(&staff, &self.store, &self.changed);
        // Hooks that cannot come would fail every turn: found out before anything is replaced.
        if let Err(why) = staff.runner.start_extensions().await {
            staff.runner.close().await;
            return Err(ReloadError::Kept(why.to_string()));
        }
        let old = self.replace(Arc::new(staff));
        tokio::spawn(async move {
            // Turns that began under it hold it.
            while Arc::strong_count(&old) > 1 {
                tokio::time::sleep(LOOK).await;
            }
            old.runner.close().await;
        });
        self.gather().await;
        Ok(())
    }
}
