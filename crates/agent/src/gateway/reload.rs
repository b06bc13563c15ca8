//! Reloads the configuration. Either everything is replaced, hooks and servers included, or
//! nothing.

use super::background;
use super::server::Gateway;
use super::services::Services;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Builds the services from the configuration files, or explains why that fails.
pub type Reload = Arc<dyn Fn() -> Result<Services, String> + Send + Sync>;

/// Poll interval for the end of turns that use the old services.
const RELEASE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Why nothing was reloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// Another reload is running.
    #[error("a reload is already in progress")]
    Busy,
    /// The configuration cannot be used.
    #[error("{0}; everything stays as it was")]
    Kept(String),
}

impl Gateway {
    /// Reloads, or explains why everything stays as it was.
    pub async fn reload(self: &Arc<Self>) -> Result<(), ReloadError> {
        let Ok(_guard) = self.reloading.try_lock() else { return Err(ReloadError::Busy) };
        let result = self.try_reload().await;
        match &result {
            Ok(()) => {
                self.counters.reload("done");
                tracing::info!(target: "gateway", "Reloaded: new turns follow the new configuration");
                self.events.publish("reload", &json!({"ok": true}));
            }
            Err(why) => {
                self.counters.reload("failed");
                tracing::error!(target: "gateway", error = %why, "Not reloaded");
                self.events.publish("reload", &json!({"ok": false, "error": why.to_string()}));
            }
        }
        result
    }

    async fn try_reload(self: &Arc<Self>) -> Result<(), ReloadError> {
        let build = Arc::clone(&self.reload);
        let built = tokio::task::spawn_blocking(move || build()).await;
        let services = built.map_err(|why| ReloadError::Kept(why.to_string()))?.map_err(ReloadError::Kept)?;
        services.check().map_err(|why| ReloadError::Kept(format!("{why}; {}", why.hint())))?;
        background::add_cron_tool(&services, &self.store, &self.jobs_changed);
        // Hooks that do not start would fail every turn, so they are started before anything is
        // replaced.
        if let Err(why) = services.runner.start_extensions().await {
            services.runner.close().await;
            return Err(ReloadError::Kept(why.to_string()));
        }
        let old = self.replace_services(Arc::new(services));
        tokio::spawn(async move {
            // Turns that started with the old services hold a reference.
            while Arc::strong_count(&old) > 1 {
                tokio::time::sleep(RELEASE_POLL_INTERVAL).await;
            }
            old.runner.close().await;
        });
        self.start_extensions().await;
        Ok(())
    }
}
