//! Jobs over time: with a clock that is turned by hand, runs that are watched, and processes that are killed.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests arrange files and processes by hand and stop where they cannot go on"
)]

use picoclaw_agent::schedule::cron::{
    Change, Clock, CronError, Job, JobFuture, JobResult, JobRun, JobRunner, JobScope, LastStatus, NewJob,
    Schedule, Scheduler, Store, Switch, Task, now_ms, run_now, system_clock,
};
use picoclaw_policy::AgentId;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_testing::{PATIENCE, wait_until};
use std::future::Future;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const START: i64 = 1_800_000_000_000;

/// A clock that is turned by hand, and how often it was read.
struct Hands(AtomicI64, AtomicI64);

impl Hands {
    fn now_ms(&self) -> i64 {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs that are written down; one with `wait` in its text waits until it is let go.
#[derive(Default)]
struct Watched {
    ran: Mutex<Vec<String>>,
    go: Notify,
}

/// The clock as the scheduler takes it.
fn ticking(hands: &Arc<Hands>) -> Clock {
    let hands = Arc::clone(hands);
    Arc::new(move || hands.now_ms())
}

impl JobRunner for Watched {
    fn run<'r>(&'r self, run: &'r JobRun, halt: &'r CancelToken) -> JobFuture<'r> {
        Box::pin(async move {
            let (Task::Message(text) | Task::Command(text)) = &run.task;
            self.ran.lock().unwrap().push(text.clone());
            if text.contains("wait") {
                tokio::select! {
                    () = self.go.notified() => {}
                    () = halt.cancelled() => return JobResult::error("stopped"),
                }
            }
            let status = match text.as_str() {
                "fails" => LastStatus::Error,
                "refused" => LastStatus::Refused,
                _ => LastStatus::Ok,
            };
            JobResult { status, text: format!("{text}, as told\nand more") }
        })
    }
}

struct Bench {
    dir: tempfile::TempDir,
    store: Store,
    clock: Arc<Hands>,
    runs: Arc<Watched>,
    scheduler: Scheduler,
    halt: CancelToken,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let (clock, runs) =
            (Arc::new(Hands(AtomicI64::new(START), AtomicI64::new(0))), Arc::new(Watched::default()));
        let scheduler = Scheduler::new(store.clone(), ticking(&clock), runs.clone());
        Self { dir, store, clock, runs, scheduler, halt: CancelToken::new() }
    }

    fn add(&self, text: &str, schedule: Schedule) -> Job {
        let task = Task::Message(text.to_owned());
        let added = NewJob { name: None, agent: AgentId::main(), lineage: Vec::new(), task, schedule };
        self.store.add(added, self.clock.now_ms()).unwrap()
    }

    fn turn(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
        self.scheduler.wake();
    }

    fn job(&self, id: &str) -> Job {
        self.store.get(id, JobScope::All).unwrap()
    }

    fn ran(&self) -> Vec<String> {
        self.runs.ran.lock().unwrap().clone()
    }

    /// Runs the scheduler beside `act`, and ends it.
    fn with<T>(&self, act: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let both = async {
                let mut running = std::pin::pin!(self.scheduler.run(&self.halt));
                let looked = self.clock.1.load(Ordering::SeqCst);
                let mut act = std::pin::pin!(async {
                    // Its first look is over when it looks again: what is past then was not missed.
                    self.until("its first look", || self.clock.1.load(Ordering::SeqCst) > looked + 1).await;
                    act.await
                });
                let done = tokio::select! {
                    () = &mut running => panic!("the scheduler ended by itself"),
                    done = &mut act => done,
                };
                self.halt.cancel();
                running.await;
                done
            };
            tokio::time::timeout(Duration::from_secs(60), both).await.unwrap()
        })
    }

    async fn until(&self, what: &str, is_true: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_true() {
            assert!(began.elapsed() < PATIENCE, "{what} never came; ran {:?}", self.ran());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[test]
fn what_is_due_runs_and_what_came_of_it_is_true() {
    let bench = Bench::new();
    let (good, bad, no) = (
        bench.add("good", Schedule::every(60).unwrap()),
        bench.add("fails", Schedule::every(60).unwrap()),
        bench.add("refused", Schedule::every(60).unwrap()),
    );
    bench.with(async {
        bench.turn(59);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(bench.ran().is_empty(), "not yet");
        bench.turn(1);
        bench.until("the last word", || bench.job(&no.id).state.last_status.is_some()).await;
        bench.until("the end", || bench.job(&good.id).state.last_status.is_some()).await;
    });
    for (job, status, error) in [
        (&good, LastStatus::Ok, None),
        (&bad, LastStatus::Error, Some("fails, as told")),
        (&no, LastStatus::Refused, Some("refused, as told")),
    ] {
        let state = bench.job(&job.id).state;
        assert_eq!((state.last_status, state.last_error.as_deref()), (Some(status), error));
        assert_eq!(state.last_run_at_ms, Some(START + 60_000));
        assert_eq!(state.next_run_at_ms, Some(START + 120_000));
        assert_eq!(state.running_since_ms, None);
    }
}

#[test]
fn once_runs_once_and_goes_unless_it_failed() {
    let bench = Bench::new();
    let good = bench.add("good", Schedule::after(10, START).unwrap());
    let bad = bench.add("fails", Schedule::after(10, START).unwrap());
    bench.with(async {
        bench.turn(10);
        bench.until("the good one", || bench.store.get(&good.id, JobScope::All).is_err()).await;
        bench.until("the bad one", || !bench.job(&bad.id).enabled).await;
        for _ in 0..5 {
            bench.turn(10);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    assert_eq!(bench.ran().len(), 2, "each once");
    let kept = bench.job(&bad.id).state;
    assert_eq!((kept.last_status, kept.next_run_at_ms), (Some(LastStatus::Error), None));
}

#[test]
fn a_job_that_still_runs_is_skipped_and_does_not_hold_up_the_others() {
    let bench = Bench::new();
    let slow = bench.add("wait", Schedule::every(10).unwrap());
    let quick = bench.add("quick", Schedule::every(10).unwrap());
    bench.with(async {
        for round in 1..=3 {
            bench.turn(10);
            bench
                .until("the quick one", || {
                    bench.ran().iter().filter(|text| *text == "quick").count() == round
                })
                .await;
            bench
                .until("its end", || bench.job(&quick.id).state.last_run_at_ms == Some(bench.clock.now_ms()))
                .await;
        }
        bench
            .until("the skipped one", || bench.job(&slow.id).state.next_run_at_ms > Some(START + 30_000))
            .await;
        assert_eq!(bench.ran().iter().filter(|text| *text == "wait").count(), 1, "one at a time");
        assert_eq!(bench.scheduler.running(), std::slice::from_ref(&slow.id));
        bench.runs.go.notify_one();
        bench.until("its end", || bench.job(&slow.id).state.last_status.is_some()).await;
        assert_eq!(bench.job(&slow.id).state.last_run_at_ms, Some(START + 10_000));
    });
}

#[test]
fn a_job_that_comes_but_once_waits_while_somebody_runs_it_by_hand() {
    let bench = Bench::new();
    let job = bench.add("once", Schedule::after(10, START).unwrap());
    let held = bench.store.lock_run(&job.id).unwrap().unwrap();
    bench.with(async {
        bench.turn(10);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(bench.ran().is_empty() && bench.job(&job.id).enabled);
        drop(held);
        bench.until("its own run", || bench.ran() == ["once"]).await;
    });
}

#[test]
fn a_stop_ends_what_runs_and_says_so() {
    let bench = Bench::new();
    let slow = bench.add("wait", Schedule::every(10).unwrap());
    bench.with(async {
        bench.turn(10);
        bench.until("the run", || bench.ran().len() == 1).await;
    });
    let state = bench.job(&slow.id).state;
    assert_eq!((state.last_status, state.last_error.as_deref()), (Some(LastStatus::Error), Some("stopped")));
}

#[test]
fn what_was_missed_is_not_made_up_for() {
    let bench = Bench::new();
    let every = bench.add("every", Schedule::every(60).unwrap());
    let cron = bench.add("cron", Schedule::cron("* * * * *", Some("UTC")).unwrap());
    let missed = bench.add("missed", Schedule::after(60, START).unwrap());
    let late = bench.add("late", Schedule::after(3590, START).unwrap());
    // No process ran for an hour.
    bench.clock.0.store(START + 3_600_000, Ordering::SeqCst);
    bench.with(async {
        bench.until("the one that is a little late", || bench.ran() == ["late"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(bench.ran(), ["late"], "nothing else");
        assert_eq!(bench.job(&every.id).state.next_run_at_ms, Some(START + 3_660_000));
        bench.turn(60);
        bench.until("the others", || bench.ran().len() == 3).await;
    });
    assert!(bench.job(&cron.id).state.last_run_at_ms.is_some());
    let state = bench.job(&missed.id).state;
    assert_eq!(
        state.last_error.as_deref(),
        Some("missed: no gateway ran at that time"),
        "and it is not lost"
    );
    assert!(bench.store.get(&late.id, JobScope::All).is_err(), "it ran");
}

#[test]
fn a_clock_that_is_set_leads_to_one_run_at_most() {
    let bench = Bench::new();
    let every = bench.add("every", Schedule::every(60).unwrap());
    bench.with(async {
        bench.turn(30 * 86_400);
        bench.until("one run", || bench.job(&every.id).state.last_status.is_some()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(bench.ran().len(), 1, "a month forward is one run");
        bench.turn(-60 * 86_400);
        let next = || bench.job(&every.id).state.next_run_at_ms.unwrap() - bench.clock.now_ms();
        bench.until("a time that comes", || next() <= 61_000).await;
        bench.turn(62);
        bench.until("the second", || bench.ran().len() == 2).await;
    });
}

#[test]
fn an_edit_by_somebody_else_is_seen_in_time() {
    let bench = Bench::new();
    bench.with(async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        // `look` is not called: this is another process, as far as the scheduler can tell.
        let job = bench.add("new", Schedule::after(1, START).unwrap());
        bench.clock.0.fetch_add(2000, Ordering::SeqCst);
        let began = Instant::now();
        bench.until("the new one", || bench.ran() == ["new"]).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        bench.until("its end", || bench.store.get(&job.id, JobScope::All).is_err()).await;
    });
}

#[test]
fn everybody_finds_their_own_jobs_alone() {
    let bench = Bench::new();
    let job = bench.add("mine", Schedule::every(60).unwrap());
    let other = AgentId::parse("other").unwrap();
    let foreign = JobScope::Own(&other);
    let change = || Change { name: Some("theirs".to_owned()), ..Change::default() };
    assert!(bench.store.list(foreign).unwrap().is_empty());
    assert!(bench.store.get(&job.id, foreign).is_err());
    assert!(bench.store.update(&job.id, change(), foreign, START).is_err());
    assert!(bench.store.switch(&job.id, Switch::Off, &[], foreign, START).is_err());
    assert!(bench.store.remove(&job.id, foreign).is_err());
    assert_eq!(bench.job(&job.id), job, "untouched");
    let main = AgentId::main();
    let own = JobScope::Own(&main);
    assert_eq!(bench.store.update(&job.id, change(), own, START).unwrap().name, "theirs");
    let off = bench.store.switch(&job.id, Switch::Off, &[], own, START).unwrap();
    assert_eq!((off.enabled, off.state.next_run_at_ms), (false, None));
    let on = bench.store.switch(&job.id, Switch::On, &[], own, START).unwrap();
    assert_eq!((on.enabled, on.state.next_run_at_ms), (true, Some(START + 60_000)));
    assert_eq!(bench.store.remove(&job.id, own).unwrap().id, job.id);
}

#[test]
fn by_hand_a_job_runs_at_once_and_its_schedule_stays() {
    let bench = Bench::new();
    let job = bench.add("fails", Schedule::after(60, START).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = || {
        runtime.block_on(run_now(&bench.store, &job.id, &*bench.runs, &ticking(&bench.clock), &bench.halt))
    };
    assert_eq!(run().unwrap().status, LastStatus::Error);
    let after = bench.job(&job.id);
    assert_eq!((after.enabled, after.state.next_run_at_ms), (true, Some(START + 60_000)));
    assert_eq!(after.state.last_run_at_ms, Some(START));
    let held = bench.store.lock_run(&job.id).unwrap();
    assert!(matches!(run(), Err(CronError::StillRunning(_))), "while somebody else runs it");
    drop(held);
    assert!(run().is_ok());
}

#[test]
fn files_of_others_load_and_what_is_not_known_in_them_stays() {
    let bench = Bench::new();
    let path = bench.dir.path().join("state/cron/jobs.json");
    let foreign = r#"{"version":1,"jobs":[{"id":"00000000deadbeef","name":"n","enabled":true,
        "schedule":{"kind":"every","everyMs":60000},
        "payload":{"kind":"agent_turn","message":"hi","deliver":true,"channel":"cli","to":"direct"},
        "state":{"nextRunAtMs":1},"createdAtMs":1,"updatedAtMs":1,"deleteAfterRun":false,"colour":"red"}]}"#;
    std::fs::write(&path, foreign).unwrap();
    bench.with(async {
        bench
            .until("a next time", || {
                bench.job("00000000deadbeef").state.next_run_at_ms == Some(START + 60_000)
            })
            .await;
    });
    let text = std::fs::read_to_string(&path).unwrap();
    for kept in [r#""channel": "cli""#, r#""colour": "red""#, r#""deliver": true"#, r#""agent": "main""#] {
        assert!(text.contains(kept), "no {kept} in {text}");
    }
    for (why, broken) in
        [("garbage", "{"), ("another version", r#"{"version":2,"jobs":[]}"#), ("nothing", "")]
    {
        std::fs::write(&path, broken).unwrap();
        assert!(matches!(bench.store.read(), Err(CronError::Broken { .. })), "{why}");
        let added = NewJob {
            name: None,
            agent: AgentId::main(),
            lineage: Vec::new(),
            task: Task::Message("x".to_owned()),
            schedule: Schedule::every(60).unwrap(),
        };
        assert!(bench.store.add(added, START).is_err(), "{why}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), broken, "{why}: not written over");
    }
}

#[test]
fn what_nobody_should_schedule_is_refused() {
    let bench = Bench::new();
    let add = |task: Task, name: Option<String>, schedule: Schedule| {
        bench.store.add(NewJob { name, agent: AgentId::main(), lineage: Vec::new(), task, schedule }, START)
    };
    let message = |text: &str| Task::Message(text.to_owned());
    let every = || Schedule::every(60).unwrap();
    for (why, made) in [
        ("nothing to say", add(message(" \n"), None, every())),
        ("nothing to run", add(Task::Command(String::new()), None, every())),
        ("a line_file", add(message(&"x".repeat(70_000)), None, every())),
        ("a name like a line_file", add(message("x"), Some("x".repeat(300)), every())),
        ("a day that is none", add(message("x"), None, Schedule::cron("0 0 30 2 *", Some("UTC")).unwrap())),
        ("a moment that is over", add(message("x"), None, Schedule::after(1, START - 5000).unwrap())),
    ] {
        assert!(made.is_err(), "{why}");
    }
    for _ in 0..200 {
        add(message("x"), None, every()).unwrap();
    }
    assert!(add(message("x"), None, every()).is_err(), "and not without end");
}

/// Set in a copy of this program that is to edit, or to run jobs, there.
const AT: &str = "PICOCLAW_TEST_CRON";

fn copy(home: &Path, test: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(AT, home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn editing_in_a_process_of_its_own() {
    let Some(home) = std::env::var_os(AT) else { return };
    let store = Store::open(Path::new(&home)).unwrap();
    for round in 0..40 {
        let task = Task::Message(format!("{round}"));
        let added = NewJob {
            name: None,
            agent: AgentId::main(),
            lineage: Vec::new(),
            task,
            schedule: Schedule::every(60).unwrap(),
        };
        let job = store.add(added, START).unwrap();
        if round % 2 == 0 {
            store.remove(&job.id, JobScope::All).unwrap();
        } else {
            store.switch(&job.id, Switch::Off, &[], JobScope::All, START).unwrap();
        }
    }
}

#[test]
fn two_editors_lose_no_edit() {
    let bench = Bench::new();
    let mut children: Vec<Child> =
        (0..3).map(|_| copy(bench.dir.path(), "editing_in_a_process_of_its_own")).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let jobs = bench.store.read().unwrap();
    assert_eq!(jobs.len(), 60, "each added 40 and removed 20");
    assert!(jobs.iter().all(|job| !job.enabled), "each switched its own off");
}

/// A run that leaves a line when it begins and one when it is over.
struct Lines(std::path::PathBuf);

impl JobRunner for Lines {
    fn run<'r>(&'r self, run: &'r JobRun, _: &'r CancelToken) -> JobFuture<'r> {
        Box::pin(async move {
            use std::io::Write;
            let note = |what: &str| {
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.0).unwrap();
                writeln!(file, "{what} {} {}", run.id, run.began_ms).unwrap();
            };
            note("begun");
            tokio::time::sleep(Duration::from_millis(run.began_ms.unsigned_abs() % 7)).await;
            note("done");
            JobResult { status: LastStatus::Ok, text: String::new() }
        })
    }
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn scheduling_in_a_process_of_its_own() {
    let Some(home) = std::env::var_os(AT) else { return };
    let home = Path::new(&home);
    let store = Store::open(home).unwrap();
    let scheduler = Scheduler::new(store, system_clock(), Arc::new(Lines(home.join("lines"))));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(scheduler.run(&CancelToken::new()));
}

#[test]
fn killed_at_any_moment_no_job_is_lost_and_none_that_ran_runs_again() {
    // Three runs a round: `make soak` has 510.
    let rounds = if std::env::var_os("PICOCLAW_SOAK").is_some() { 170 } else { 12 };
    let bench = Bench::new();
    let lines = || std::fs::read_to_string(bench.dir.path().join("lines")).unwrap_or_default();
    for round in 0..rounds {
        let before = lines().len();
        let ids: Vec<String> = (0..3)
            .map(|n| {
                let now = now_ms();
                let schedule =
                    Schedule { at_ms: Some(now + 200 + n * 15), ..Schedule::after(1, now).unwrap() };
                let task = Task::Message(format!("{round} {n}"));
                let added =
                    NewJob { name: None, agent: AgentId::main(), lineage: Vec::new(), task, schedule };
                bench.store.add(added, now).unwrap().id
            })
            .collect();
        let mut child = copy(bench.dir.path(), "scheduling_in_a_process_of_its_own");
        let began = Instant::now();
        while lines().len() == before && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round * 1700 % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut child = copy(bench.dir.path(), "scheduling_in_a_process_of_its_own");
        let is_settled = || {
            let jobs = bench.store.read().unwrap();
            ids.iter().all(|id| jobs.iter().find(|job| job.id == *id).is_none_or(|job| !job.enabled))
        };
        wait_until("every job that was due is switched off", is_settled);
        child.kill().unwrap();
        child.wait().unwrap();
        let (lines, jobs) = (lines(), bench.store.read().unwrap());
        for id in &ids {
            let count =
                |what: &str| lines.lines().filter(|line| line.starts_with(&format!("{what} {id} "))).count();
            assert!(count("begun") <= 1 && count("done") <= 1, "{id} ran again:\n{lines}");
            match jobs.iter().find(|job| job.id == *id) {
                None => assert_eq!(count("done"), 1, "{id} went without having run:\n{lines}"),
                Some(job) => {
                    let why = job.state.last_error.as_deref();
                    assert_eq!(why, Some("interrupted: picoclaw ended during the run"), "{job:?}");
                }
            }
        }
    }
}
