//! Cron jobs and the heartbeat. A run uses the services that were current when it started.

use super::server::Gateway;
use super::services::Services;
use crate::schedule::LogFile;
use crate::schedule::cron::{
    CronError, CronTool, EventSink, JobExecutor, JobFuture, JobRun, JobRunner, Scheduler, Store, system_clock,
};
use crate::schedule::heartbeat::Heartbeat;
use crate::tokens::TokenStoreError;
use crate::tools::Tool;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::state_dir::StateError;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// Delay of the first heartbeat.
const FIRST_HEARTBEAT_DELAY: Duration = Duration::from_secs(1);

/// Poll interval for the end of running jobs.
const JOBS_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Why cron and heartbeat cannot run.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundError {
    /// The jobs cannot be read.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// The tokens cannot be read.
    #[error(transparent)]
    Tokens(#[from] TokenStoreError),
    /// The log cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The cron scheduler and the heartbeat of a gateway.
pub(super) struct BackgroundTasks {
    scheduler: Scheduler,
    heartbeat: RwLock<Option<Arc<HeartbeatTask>>>,
    /// Notified when `heartbeat` was replaced.
    replaced: Notify,
    /// Held during a heartbeat.
    beating: tokio::sync::Mutex<()>,
    halt: CancelToken,
    tasks: Mutex<JoinSet<()>>,
}

struct HeartbeatTask {
    heartbeat: Heartbeat,
    interval: Duration,
    _services: Arc<Services>,
}

/// Runs jobs, and keeps their services alive.
struct JobsTask {
    jobs: JobExecutor,
    _services: Arc<Services>,
}

impl JobRunner for JobsTask {
    fn run<'r>(&'r self, run: &'r JobRun, halt: &'r CancelToken) -> JobFuture<'r> {
        self.jobs.run(run, halt)
    }
}

/// Adds the `cron` tool to the registry; `changed` is notified of every edit.
pub(super) fn add_cron_tool(services: &Services, store: &Store, changed: &Arc<Notify>) {
    let changed = Arc::clone(changed);
    let tool = CronTool::new(
        store.clone(),
        system_clock(),
        &services.config.tools,
        Arc::new(move || changed.notify_one()),
    );
    let tool: Arc<dyn Tool> = Arc::new(tool);
    services.executor.replace_registry(services.executor.registry().with([tool]));
}

impl BackgroundTasks {
    /// Starts them with the gateway's services.
    pub(super) fn start(gateway: &Arc<Gateway>) -> Result<Arc<Self>, BackgroundError> {
        let services = gateway.services();
        let runs = jobs_task(gateway, &services);
        let scheduler = Scheduler::new(gateway.store.clone(), system_clock(), runs)
            .with_log(LogFile::open(gateway.home(), "cron.log")?);
        let background = Arc::new(Self {
            scheduler,
            heartbeat: RwLock::new(heartbeat_task(gateway, &services)),
            replaced: Notify::new(),
            beating: tokio::sync::Mutex::default(),
            halt: CancelToken::new(),
            tasks: Mutex::default(),
        });
        let [cron, heartbeat, edits] = [(); 3].map(|()| Arc::clone(&background));
        let changed = Arc::clone(&gateway.jobs_changed);
        let mut tasks = background.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move { cron.scheduler.run(&cron.halt).await });
        tasks.spawn(async move { heartbeat.run_heartbeat().await });
        tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = edits.halt.cancelled() => return,
                    () = changed.notified() => edits.scheduler.wake(),
                }
            }
        });
        drop(tasks);
        Ok(background)
    }

    /// Uses other services for the next runs.
    pub(super) fn replace_services(&self, gateway: &Arc<Gateway>, services: &Arc<Services>) {
        self.scheduler.replace_runner(jobs_task(gateway, services));
        *self.heartbeat.write().unwrap_or_else(PoisonError::into_inner) = heartbeat_task(gateway, services);
        self.replaced.notify_one();
    }

    /// Waits up to `finish` for running jobs, then cancels them and waits up to `rollback`.
    pub(super) async fn stop(&self, finish: Duration, rollback: Duration) {
        let finished = async {
            while !self.scheduler.running().is_empty() {
                tokio::time::sleep(JOBS_POLL_INTERVAL).await;
            }
            drop(self.beating.lock().await);
        };
        let _ = timeout(finish, finished).await;
        self.halt.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(rollback, async { while tasks.join_next().await.is_some() {} }).await;
    }

    async fn run_heartbeat(&self) {
        let mut last = None;
        let started = Instant::now();
        loop {
            let task = self.heartbeat.read().unwrap_or_else(PoisonError::into_inner).clone();
            let next = task.as_ref().map(|task| {
                last.map_or(started + FIRST_HEARTBEAT_DELAY, |last: Instant| last + task.interval)
            });
            tokio::select! {
                biased;
                () = self.halt.cancelled() => return,
                () = self.replaced.notified() => continue,
                () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
            }
            if let Some(task) = task {
                let _guard = self.beating.lock().await;
                task.heartbeat.beat(&self.halt).await;
            }
            // Measured from the end: a long heartbeat delays the next one, and missed ones are
            // skipped.
            last = Some(Instant::now());
        }
    }
}

fn event_sink(gateway: &Arc<Gateway>) -> EventSink {
    let gateway = Arc::downgrade(gateway);
    Arc::new(move |subject, event| {
        if let Some(gateway) = gateway.upgrade() {
            gateway.on_event(subject, event);
        }
    })
}

fn jobs_task(gateway: &Arc<Gateway>, services: &Arc<Services>) -> Arc<dyn JobRunner> {
    let jobs =
        JobExecutor::new(services.runner.clone(), &services.executor, &services.config, event_sink(gateway));
    Arc::new(JobsTask { jobs, _services: Arc::clone(services) })
}

fn heartbeat_task(gateway: &Arc<Gateway>, services: &Arc<Services>) -> Option<Arc<HeartbeatTask>> {
    let config = &services.config;
    if !config.heartbeat.enabled {
        if Heartbeat::has_tasks(&services.instance, config) {
            tracing::info!(target: "heartbeat", "The tasks in `HEARTBEAT.md` are not run: `heartbeat.enabled` is false");
        }
        return None;
    }
    match Heartbeat::open(services.runner.clone(), &services.instance, config, event_sink(gateway)) {
        Ok(heartbeat) => {
            let interval = Duration::from_secs(config.heartbeat.interval_minutes.saturating_mul(60));
            Some(Arc::new(HeartbeatTask { heartbeat, interval, _services: Arc::clone(services) }))
        }
        Err(why) => {
            tracing::error!(target: "heartbeat", error = %why, "The heartbeat could not be started");
            None
        }
    }
}
