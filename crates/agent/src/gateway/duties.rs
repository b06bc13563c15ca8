//! What the gateway does unasked: jobs at their times, and the heartbeat.
//!
//! Invariant: whatever time brings about runs under the staff of its moment, which stays until it is over.

use super::gate::Gate;
use super::staff::Staff;
use crate::schedule::LogFile;
use crate::schedule::cron::{
    CronError, CronTool, EventSink, JobExecutor, JobFuture, JobRun, JobRunner, Scheduler, Store, system_clock,
};
use crate::schedule::heartbeat::Heartbeat;
use crate::tools::Tool;
use picoclaw_sandbox::launch::Halt;
use picoclaw_sandbox::shelf::ShelfError;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// How long after the start the first heartbeat is.
const FIRST: Duration = Duration::from_secs(1);

/// How often to see whether jobs are over.
const LOOK: Duration = Duration::from_millis(50);

/// Why there can be no duties.
#[derive(Debug, thiserror::Error)]
pub enum DutyError {
    /// The jobs cannot be had.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// The log cannot be written.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

/// JobExecutor and heartbeat of a gateway.
pub(super) struct Duties {
    scheduler: Scheduler,
    heart: RwLock<Option<Arc<Heart>>>,
    /// The heart is another one now.
    renewed: Notify,
    beating: tokio::sync::Mutex<()>,
    halt: Halt,
    tasks: Mutex<JoinSet<()>>,
}

struct Heart {
    heartbeat: Heartbeat,
    interval: Duration,
    _staff: Arc<Staff>,
}

/// JobExecutor, and the staff that runs them.
struct Held {
    jobs: JobExecutor,
    _staff: Arc<Staff>,
}

impl JobRunner for Held {
    fn run<'r>(&'r self, firing: &'r JobRun, halt: &'r Halt) -> JobFuture<'r> {
        self.jobs.run(firing, halt)
    }
}

/// Gives the staff's agents the `cron` tool; `changed` hears of every edit.
pub(super) fn equip(staff: &Staff, store: &Store, changed: &Arc<Notify>) {
    let changed = Arc::clone(changed);
    let tool = CronTool::new(
        store.clone(),
        system_clock(),
        &staff.config.tools,
        Arc::new(move || changed.notify_one()),
    );
    let tool: Arc<dyn Tool> = Arc::new(tool);
    staff.hall.replace_registry(staff.hall.registry().with([tool]));
}

impl Duties {
    /// Begins them, with the gateway's staff.
    pub(super) fn begin(gate: &Arc<Gate>) -> Result<Arc<Self>, DutyError> {
        let staff = gate.staff();
        let scheduler = Scheduler::new(gate.store.clone(), system_clock(), jobs(gate, &staff))
            .with_log(LogFile::open(gate.home(), "cron.log")?);
        let duties = Arc::new(Self {
            scheduler,
            heart: RwLock::new(heart(gate, &staff)),
            renewed: Notify::new(),
            beating: tokio::sync::Mutex::default(),
            halt: Halt::new(),
            tasks: Mutex::default(),
        });
        let (firing, beating, waking) = (Arc::clone(&duties), Arc::clone(&duties), Arc::clone(&duties));
        let changed = Arc::clone(&gate.changed);
        let mut tasks = duties.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move { firing.scheduler.run(&firing.halt).await });
        tasks.spawn(async move { beating.beat().await });
        tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = waking.halt.raised() => return,
                    () = changed.notified() => waking.scheduler.wake(),
                }
            }
        });
        drop(tasks);
        Ok(duties)
    }

    /// Goes on with another staff; what runs is let be.
    pub(super) fn renew(&self, gate: &Arc<Gate>, staff: &Arc<Staff>) {
        self.scheduler.replace_runner(jobs(gate, staff));
        *self.heart.write().unwrap_or_else(PoisonError::into_inner) = heart(gate, staff);
        self.renewed.notify_one();
    }

    /// Ends them: what runs may end by itself within `patience`, and is stopped then.
    pub(super) async fn end(&self, patience: Duration, stopping: Duration) {
        let over = async {
            while !self.scheduler.running().is_empty() {
                tokio::time::sleep(LOOK).await;
            }
            drop(self.beating.lock().await);
        };
        let _late = timeout(patience, over).await;
        self.halt.raise();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let _late = timeout(stopping, async { while tasks.join_next().await.is_some() {} }).await;
    }

    async fn beat(&self) {
        let mut last = None;
        let began = Instant::now();
        loop {
            let heart = self.heart.read().unwrap_or_else(PoisonError::into_inner).clone();
            let next =
                heart.as_ref().map(|heart| last.map_or(began + FIRST, |last: Instant| last + heart.interval));
            tokio::select! {
                biased;
                () = self.halt.raised() => return,
                () = self.renewed.notified() => continue,
                () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
            }
            if let Some(heart) = heart {
                let _alone = self.beating.lock().await;
                heart.heartbeat.beat(&self.halt).await;
            }
            // From now on: a beat that took long delays the next one, and none is made up for.
            last = Some(Instant::now());
        }
    }
}

fn hear(gate: &Arc<Gate>) -> EventSink {
    let gate = Arc::downgrade(gate);
    Arc::new(move |subject, event| {
        if let Some(gate) = gate.upgrade() {
            gate.hear(subject, event);
        }
    })
}

fn jobs(gate: &Arc<Gate>, staff: &Arc<Staff>) -> Arc<dyn JobRunner> {
    let jobs = JobExecutor::new(staff.runner.clone(), &staff.hall, &staff.config, hear(gate));
    Arc::new(Held { jobs, _staff: Arc::clone(staff) })
}

fn heart(gate: &Arc<Gate>, staff: &Arc<Staff>) -> Option<Arc<Heart>> {
    let config = &staff.config;
    if !config.heartbeat.enabled {
        return None;
    }
    match Heartbeat::open(staff.runner.clone(), &staff.instance, config, hear(gate)) {
        Ok(heartbeat) => {
            let interval = Duration::from_secs(config.heartbeat.interval_minutes.saturating_mul(60));
            Some(Arc::new(Heart { heartbeat, interval, _staff: Arc::clone(staff) }))
        }
        Err(why) => {
            tracing::error!(target: "heartbeat", error = %why, "There is no heartbeat");
            None
        }
    }
}
