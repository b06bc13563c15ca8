//! Questions to a real cage: what a child in it can do, tried and not assumed.
//!
//! Invariant: a finding says what was observed; a promise counts as kept only when the attempt was seen to fail.

use crate::launch::{Finished, LaunchError, Status};
use picoclaw_policy::config::{Limits, Network};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::path::Path;

/// One question, and what a child in the cage made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The question, as a person asks it.
    pub question: &'static str,
    /// The layer that answers it.
    pub layer: &'static str,
    /// What should be observed.
    pub expected: &'static str,
    /// What was observed.
    pub observed: String,
    /// Whether the promise was kept.
    pub outcome: Outcome,
}

/// Whether a promise was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was.
    Kept,
    /// It was not.
    Broken,
    /// It was not promised here.
    NotPromised,
}

/// Whether the host's processes can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// They are hidden.
    Hidden,
    /// They are not.
    Visible,
}

/// What is there to be reached from inside, if the cage does not hold.
#[derive(Debug)]
pub struct Baits<'b> {
    /// The person's home.
    pub home: &'b Path,
    /// A file that exists outside, and that no child may read.
    pub secret: &'b Path,
    /// A directory outside that this user may write to.
    pub writable: &'b Path,
    /// A variable in our own environment that no child may see.
    pub variable: &'b str,
    /// The network that the cage promises.
    pub network: Network,
    /// Whether the cage promises to hide processes.
    pub processes: Sight,
    /// The limits that the cage promises; small ones are tried.
    pub limits: Limits,
}

/// The most memory that a trial takes, in MiB.
const TRIAL_MB: u64 = 512;

/// Asks every question, each in a child that `run` starts from a shell line.
pub fn examine(baits: &Baits<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> Vec<Finding> {
    let own_pid = std::process::id();
    let (home, secret) = (quoted(baits.home), quoted(baits.secret));
    let mut findings = vec![
        yes_or_no(
            run,
            ("can it read your home?", "filesystem"),
            &format!(
                "for f in .ssh .bashrc .profile .gitconfig .netrc .aws .config; do test -e {home}/$f && echo yes; done; echo no"
            ),
        ),
        yes_or_no(
            run,
            ("can it read the configuration?", "filesystem"),
            &format!("cat {secret} >/dev/null 2>&1 && echo yes; echo no"),
        ),
        writes(baits.writable, run),
        yes_or_no(
            run,
            ("can it signal your processes?", "processes"),
            &format!("kill -0 {own_pid} 2>/dev/null && echo yes; echo no"),
        ),
        sight(baits, run),
        yes_or_no(
            run,
            ("can it gain privileges?", "syscalls"),
            "grep -qE '^(CapEff|CapPrm|CapBnd):.*[1-9a-f]|^NoNewPrivs:.*0' /proc/self/status && echo yes; echo no",
        ),
        yes_or_no(
            run,
            ("does it make system calls unfiltered?", "syscalls"),
            "grep -q '^Seccomp:.*0' /proc/self/status && echo yes; echo no",
        ),
        yes_or_no(
            run,
            ("does it see your environment?", "environment"),
            &format!("env | grep -q '^{}=' && echo yes; echo no", baits.variable),
        ),
    ];
    findings.push(network(baits, run));
    findings.push(memory(baits, run));
    findings
}

fn yes_or_no(
    run: &dyn Fn(&str) -> Result<Finished, LaunchError>,
    (question, layer): (&'static str, &'static str),
    line: &str,
) -> Finding {
    let observed = match run(line) {
        Ok(finished) if finished.stdout.to_text().starts_with("yes") => "yes".to_owned(),
        Ok(finished) if finished.stdout.to_text().starts_with("no") => "no".to_owned(),
        Ok(finished) => format!("no answer: {:?} {}", finished.status, finished.stderr.to_text().trim()),
        Err(error) => format!("no answer: {error}"),
    };
    // A child that could not even answer has shown nothing.
    let outcome = if observed == "no" { Outcome::Kept } else { Outcome::Broken };
    Finding { question, layer, expected: "no", observed, outcome }
}

/// Whether something a child writes arrives outside: a private directory of the same name may take it all the same.
fn writes(writable: &Path, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> Finding {
    let file = writable.join(format!("picoclaw-doctor-{}", std::process::id()));
    let line = format!("(: > {}) 2>/dev/null; echo no", quoted(&file));
    let mut finding = yes_or_no(run, ("can it write outside?", "filesystem"), &line);
    if rustix::fs::unlink(&file).is_ok() {
        finding.observed = "yes".to_owned();
        finding.outcome = Outcome::Broken;
    }
    finding
}

/// Whether this very process is found in `/proc`: by its number and its name, since a cage has numbers of its own.
fn sight(baits: &Baits<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> Finding {
    let own_pid = std::process::id();
    let name = process_name();
    let name = quoted(Path::new(name.trim_end()));
    let line = format!("grep -qxF -e {name} /proc/{own_pid}/comm 2>/dev/null && echo yes; echo no");
    let mut finding = yes_or_no(run, ("can it see your processes?", "processes"), &line);
    if baits.processes == Sight::Visible {
        finding.expected = "yes: there is no process namespace here";
        finding.outcome = Outcome::NotPromised;
    }
    finding
}

fn process_name() -> String {
    let mut name = [0; 32];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let read = openat(CWD, "/proc/self/comm", flags, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut name))
        .unwrap_or_default();
    String::from_utf8_lossy(name.get(..read).unwrap_or_default()).into_owned()
}

fn network(baits: &Baits<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> Finding {
    let line = "test \"$(grep -c : /proc/net/dev)\" -gt 1 && echo yes; test -r /proc/net/dev && echo no";
    let mut finding = yes_or_no(run, ("can it reach the network?", "network"), line);
    if baits.network == Network::Host {
        finding.expected = "yes: `isolation.network` is `host`";
        finding.outcome = Outcome::NotPromised;
    }
    finding
}

fn memory(baits: &Baits<'_>, run: &dyn Fn(&str) -> Result<Finished, LaunchError>) -> Finding {
    let (question, layer, expected) = ("can it exhaust memory?", "limits", "no");
    let limit = baits.limits.memory_mb;
    if limit == 0 || limit > TRIAL_MB {
        let observed = format!("not tried: the limit is {limit} MiB");
        return Finding { question, layer, expected, observed, outcome: Outcome::NotPromised };
    }
    // `tail` holds all it reads until the end.
    let bytes = (limit + 64) << 20;
    let finished = run(&format!("head -c {bytes} /dev/zero | tail -c {bytes} | wc -c"));
    let (observed, outcome) = match finished {
        Ok(finished) if finished.status == Status::OutOfMemory => {
            ("no: it was ended".to_owned(), Outcome::Kept)
        }
        Ok(finished) if finished.stdout.to_text().trim() == bytes.to_string() => {
            ("yes".to_owned(), Outcome::Broken)
        }
        Ok(_) => ("no: it was refused more".to_owned(), Outcome::Kept),
        Err(error) => (format!("no answer: {error}"), Outcome::Broken),
    };
    Finding { question, layer, expected, observed, outcome }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}
