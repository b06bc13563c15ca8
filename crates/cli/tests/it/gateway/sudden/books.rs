//! What must be true afterwards, from what was told and what was left behind.

use super::callers::{Heard, Outcome};
use crate::test_instance::TestInstance;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The job that stays in the store.
const STANDING: &str = "standing";

/// What was asked for and told, and what the files held when they were last looked at.
pub(super) struct Books<'h> {
    instance: &'h TestInstance,
    told: Vec<Outcome>,
    /// Each job's number, and the word that its run leaves.
    jobs: Vec<(String, String)>,
    /// How many more there were.
    over: usize,
    seen: BTreeMap<PathBuf, Vec<u8>>,
    /// What was found while files were compared.
    found: Vec<String>,
}

impl<'h> Books<'h> {
    /// Over an instance with one job that stays.
    pub(super) fn open(instance: &'h TestInstance) -> Self {
        add(instance, STANDING, &["--command", "true", "-e", "36000"]);
        Self {
            instance,
            told: Vec::new(),
            jobs: Vec::new(),
            over: 0,
            seen: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Jobs that come but once, ten a second from soon on.
    pub(super) fn schedule(&mut self, batch: usize, count: usize) {
        for n in 0..count {
            let word = format!("j{batch}-{n}");
            let pause = n % 5;
            let command =
                format!("echo begun {word} >> cron.txt && sleep 0.0{pause} && echo done {word} >> cron.txt");
            // Adding them takes its time as well: what is due before all are there waits for the gateway.
            let id = add(self.instance, &word, &["--command", &command, "--at", &(1 + n / 10).to_string()]);
            self.jobs.push((id, word));
        }
    }

    /// Notes what a client was told.
    pub(super) fn hear(&mut self, outcome: Outcome) {
        self.told.push(outcome);
    }

    /// Turns that were answered.
    pub(super) fn acknowledged(&self) -> usize {
        self.told.iter().filter(|told| matches!(told.heard, Heard::Answer(_))).count()
    }

    /// Turns that were not.
    pub(super) fn broken_off(&self) -> usize {
        self.told.len() - self.acknowledged()
    }

    /// The store's jobs.
    pub(super) fn jobs(&self) -> Vec<Value> {
        let listed = self.instance.run(&["cron", "list", "--json"]);
        assert_eq!(listed.code, 0, "{listed:?}");
        serde_json::from_str(&listed.stdout).unwrap()
    }

    /// Whether every job that comes but once has had its turn.
    pub(super) fn is_settled(&self) -> bool {
        !self.jobs().iter().any(|job| job["name"] != STANDING && job["enabled"] == true)
    }

    /// The file of a session in which something was answered.
    pub(super) fn a_session(&self) -> PathBuf {
        let told = self.told.iter().rfind(|told| matches!(told.heard, Heard::Answer(_))).unwrap();
        self.session(&told.session)
    }

    /// Compares the files that only ever grow with what they were.
    pub(super) fn compare(&mut self) {
        let home = self.instance.home();
        for dir in [home.join("ledger"), home.join("state/sessions/main")] {
            for file in files(&dir) {
                let now = fs::read(&file).unwrap();
                let before = self.seen.get(&file).map(Vec::as_slice).unwrap_or_default();
                if !now.starts_with(before) {
                    self.found.push(format!("`{}` lost something it had", file.display()));
                }
                self.seen.insert(file, now);
            }
        }
        for file in self.seen.keys().filter(|file| !file.exists()) {
            self.found.push(format!("`{}` is gone", file.display()));
        }
    }

    /// Takes the jobs that were interrupted out of the store, which holds so many and no more.
    pub(super) fn clear_away(&mut self) {
        for job in self.jobs().iter().filter(|job| job["name"] != STANDING) {
            assert_eq!(self.instance.run(&["cron", "remove", job["id"].as_str().unwrap()]).code, 0);
        }
        self.over += self.jobs.len();
        self.jobs.clear();
    }

    /// Counts, for people.
    pub(super) fn summary(&self) -> String {
        let lines = lines(&self.instance.workspace().join("cron.txt"));
        let count = |what: &str| lines.iter().filter(|line| line.starts_with(what)).count();
        format!(
            "{} job runs ({} begun, {} done), {} turns answered, {} broken off, {} records",
            self.over + self.jobs.len(),
            count("begun"),
            count("done"),
            self.acknowledged(),
            self.broken_off(),
            records(&self.instance.home().join("ledger")).len()
        )
    }

    /// Everything that is not as it must be.
    pub(super) fn complaints(&self) -> Vec<String> {
        let mut found = self.found.clone();
        let records = records(&self.instance.home().join("ledger"));
        self.check_ledger(&records, &mut found);
        self.check_sessions(&mut found);
        self.check_tools(&records, &mut found);
        self.check_jobs(&records, &mut found);
        found
    }

    fn check_ledger(&self, records: &[Value], found: &mut Vec<String>) {
        let verified = self.instance.run(&["audit", "verify"]);
        if verified.code != 0 {
            found.push(format!("the chain does not verify: {}{}", verified.stdout, verified.stderr));
        }
        if !records.iter().zip(1u64..).all(|(record, seq)| record["seq"] == seq) {
            found.push("a record is missing".to_owned());
        }
    }

    fn check_sessions(&self, found: &mut Vec<String>) {
        let mut sessions: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for Outcome { session, said, heard } in &self.told {
            let messages = sessions.entry(session).or_insert_with(|| {
                let lines = lines(&self.session(session));
                lines.iter().map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect()
            });
            let asked: Vec<usize> = (0..messages.len())
                .filter(|at| messages[*at]["role"] == "user" && messages[*at]["content"] == said.as_str())
                .collect();
            match (heard, asked.as_slice()) {
                (Heard::Answer(answer), [at]) => {
                    let turn = messages[at + 1..].iter().take_while(|message| message["role"] != "user");
                    let last = turn.filter(|message| message["role"] == "assistant").last();
                    if last.is_none_or(|last| last["content"] != answer.as_str()) {
                        found.push(format!("`{said}` was answered `{answer}`, and its session has {last:?}"));
                    }
                }
                (Heard::Answer(_), _) => {
                    found.push(format!("`{said}` is {} times in its session", asked.len()))
                }
                (Heard::Nothing, [] | [_]) => {}
                (Heard::Nothing, _) => found.push(format!("`{said}` was said more than once")),
                (Heard::Other(what), _) => found.push(format!("`{said}` was told: {what}")),
            }
        }
        for (session, messages) in sessions {
            if messages.iter().any(Value::is_null) {
                found.push(format!("session `{session}` has a line that cannot be read"));
            }
        }
    }

    /// What tools left behind was decided on, and happened once.
    fn check_tools(&self, records: &[Value], found: &mut Vec<String>) {
        let done = lines(&self.instance.workspace().join("chat.txt"));
        for line in &done {
            if done.iter().filter(|other| *other == line).count() > 1 {
                found.push(format!("`{line}` was done more than once"));
            }
            if !is_decided(records, "http", &format!("echo {line} >> chat.txt")) {
                found.push(format!("`{line}` was done, and nobody decided it"));
            }
        }
    }

    fn check_jobs(&self, records: &[Value], found: &mut Vec<String>) {
        let store = self.jobs();
        let standing = store.iter().find(|job| job["name"] == STANDING);
        if standing.is_none_or(|job| job["enabled"] != true || !job["state"]["nextRunAtMs"].is_i64()) {
            found.push(format!("the job that stays does not: {standing:?}"));
        }
        let lines = lines(&self.instance.workspace().join("cron.txt"));
        for line in &lines {
            // Of every batch, also of those whose jobs are gone from the store.
            if lines.iter().filter(|other| *other == line).count() > 1 {
                found.push(format!("a job ran again: `{line}`"));
            }
        }
        for (id, word) in &self.jobs {
            let count = |what: &str| lines.iter().filter(|line| **line == format!("{what} {word}")).count();
            let (begun, done) = (count("begun"), count("done"));
            if begun > 0 && !is_decided(records, "cron", &format!("echo begun {word} >>")) {
                found.push(format!("job `{word}` ran, and nobody decided it"));
            }
            let of_job = |record: &&Value| record["session"] == format!("cron:{id}");
            match store.iter().find(|job| job["id"] == id.as_str()) {
                // It went because it was done.
                None => {
                    let is_finished =
                        records.iter().filter(of_job).any(|record| record["phase"] == "finished");
                    if (begun, done) != (1, 1) || !is_finished {
                        found.push(format!(
                            "job `{word}` went: begun {begun}, done {done}, finished in the ledger: {is_finished}"
                        ));
                    }
                }
                Some(job) => {
                    let why = job["state"]["lastError"].as_str().unwrap_or_default();
                    if job["enabled"] == true || !why.starts_with("interrupted") {
                        found.push(format!("job `{word}` was neither done nor interrupted: {job}"));
                    }
                }
            }
        }
    }

    fn session(&self, name: &str) -> PathBuf {
        self.instance.home().join(format!("state/sessions/main/http%3A{name}.jsonl"))
    }
}

fn add(instance: &TestInstance, name: &str, more: &[&str]) -> String {
    let ran = instance.run(&[&["cron", "add", "-n", name], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).unwrap().0.to_owned()
}

fn is_decided(records: &[Value], origin: &str, what: &str) -> bool {
    records.iter().any(|record| {
        record["phase"] == "decided"
            && record["origin"] == origin
            && record["intent"].as_str().is_some_and(|intent| intent.contains(what))
    })
}

/// The ledger's lines as they are on the disk.
fn records(ledger: &Path) -> Vec<Value> {
    let lines = files(ledger).into_iter().flat_map(|file| lines(&file));
    lines.map(|line| serde_json::from_str(&line).unwrap_or(Value::Null)).collect()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    files
}

fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}
