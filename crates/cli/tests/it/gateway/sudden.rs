//! `kill -9` at any moment of job runs and turns: what was acknowledged is there, and what was done is not done again.
//!
//! `PICOCLAW_SOAK=1` has 500 job runs and 500 turns; otherwise a dozen of each. What must hold is judged by what clients
//! were told and by what jobs and tools left in files of their own, not by what the program says of itself.

mod books;
mod callers;

use super::client::{Gateway, SCRIPTED, free_port};
use crate::test_instance::TestInstance;
use books::Books;
use callers::Outcome;
use picoclaw_testing::wait_for;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Clients at once, each in a session of its own.
const CALLERS: usize = 4;

/// Lives that a session goes on for.
const LIVES: usize = 3;

/// Random enough for moments, and the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What the model says in one life: answers that no other life gives, and tools that leave a line.
fn write_script(instance: &TestInstance, life: usize) {
    let line = |n: usize| match n % 4 {
        0 => {
            let command = format!("echo t{life}-{n} >> chat.txt");
            json!({"tool_calls": [{"name": "exec", "arguments": {"command": command}}]})
        }
        _ => json!({"content": format!("a{life}-{n}"), "delay_ms": n * 7 % 25}),
    };
    let text: Vec<String> = (0..4_000).map(|n| line(n).to_string()).collect();
    fs::write(instance.dir().join("replies.jsonl"), text.join("\n")).unwrap();
}

/// One life of a gateway, with callers, until `end` ends it.
fn live(instance: &TestInstance, books: &mut Books, life: usize, end: impl FnOnce(Gateway)) {
    write_script(instance, life);
    let gateway = Gateway::new(instance);
    let (port, bearer) = (gateway.port, gateway.bearer());
    let outcomes: Vec<Vec<Outcome>> = std::thread::scope(|scope| {
        let calling: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (session, bearer) = (format!("c{caller}-{}", life / LIVES), bearer.as_str());
                scope.spawn(move || callers::call_until_the_end(port, bearer, &session, life))
            })
            .collect();
        end(gateway);
        calling.into_iter().map(|calling| calling.join().unwrap()).collect()
    });
    for outcome in outcomes.into_iter().flatten() {
        books.hear(outcome);
    }
}

/// A gateway that does not get as far as listening.
fn kill_a_beginner(instance: &TestInstance, after: Duration) {
    let port = free_port().to_string();
    let mut command = instance.command(&["gateway", "--port", &port]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_moment_it_loses_nothing_and_repeats_nothing() {
    let soaks = std::env::var_os("PICOCLAW_SOAK").is_some();
    let (batches, jobs, turns) = if soaks { (5, 100, 500) } else { (1, 12, 12) };
    let instance = TestInstance::with_config(SCRIPTED);
    let mut books = Books::open(&instance);
    let mut chance = Chance(8);
    let mut kills = 0;
    for batch in 1..=batches {
        books.schedule(batch, jobs);
        while !books.is_settled() || books.acknowledged() < turns * batch / batches {
            kills += 1;
            if kills % 4 == 0 {
                kill_a_beginner(&instance, Duration::from_millis(chance.below(60)));
            }
            assert!(kills < 2_000, "it never settles: {:?}", books.jobs());
            live(&instance, &mut books, kills, |gateway| {
                // A random moment is what this is about.
                std::thread::sleep(Duration::from_millis(20 + chance.below(430)));
                gateway.kill();
            });
            books.compare();
        }
        assert_eq!(books.complaints(), Vec::<String>::new(), "after {kills} kills");
        books.clear_away();
    }
    eprintln!("{kills} kills, and {} of beginners: {}", kills / 4, books.summary());
    assert!(books.broken_off() > 0, "no turn was hit: the kills came at the wrong moments");
}

/// The judge itself: it has nothing to say of a quiet life, and something of each loss.
#[test]
fn whatever_is_lost_or_repeated_is_noticed() {
    let instance = TestInstance::with_config(SCRIPTED);
    let mut books = Books::open(&instance);
    books.schedule(1, 3);
    live(&instance, &mut books, 1, |gateway| {
        wait_for("the jobs never ran", || is_settled(&instance).then_some(()));
        assert_eq!(gateway.end().0.code(), Some(0));
    });
    books.compare();
    assert_eq!(books.complaints(), Vec::<String>::new());
    assert!(books.acknowledged() > 0);
    let (home, work) = (instance.home(), instance.workspace());
    let session = books.a_session();
    let cut_line = |text: &str| {
        let at = text.trim_end().rfind('\n').unwrap_or(0);
        text[..=at].to_owned()
    };
    let first_again = |text: &str| format!("{text}{}\n", text.lines().next().unwrap());
    let cut_middle = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        [&lines[..1], &lines[2..]].concat().join("\n") + "\n"
    };
    let without_jobs = |_: &str| json!({"version": 1, "jobs": []}).to_string();
    type Damage<'d> = &'d dyn Fn(&str) -> String;
    for (what, file, damage) in [
        ("an answer is gone", session, &cut_line as Damage<'_>),
        ("a record is gone from the middle", home.join("ledger/00000001.jsonl"), &cut_middle),
        ("the last record is gone", home.join("ledger/00000001.jsonl"), &cut_line),
        ("a job that stays is gone", home.join("state/cron/jobs.json"), &without_jobs),
        ("a job ran again", work.join("cron.txt"), &first_again),
        ("a job that went never ran", work.join("cron.txt"), &cut_line),
        ("a tool ran again", work.join("chat.txt"), &first_again),
    ] {
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, damage(&before)).unwrap();
        assert_ne!(books.complaints(), Vec::<String>::new(), "{what}, and nobody noticed");
        fs::write(&file, before).unwrap();
        assert_eq!(books.complaints(), Vec::<String>::new(), "{what}: it was put right");
    }
}

/// Whether no job that comes but once is left to be run.
fn is_settled(instance: &TestInstance) -> bool {
    let listed = instance.run(&["cron", "list", "--json"]);
    let jobs: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    !jobs.iter().any(|job| job["schedule"]["kind"] == "at" && job["enabled"] == true)
}
