//! No input may make a judgement take long; `make bench` measures more of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

#[path = "shell_cost/inputs.rs"]
mod inputs;

use picoclaw_policy::config::{ExecConfig, Guard as Mode, OnBlock};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{Confinement, Guard, GuardContext, NoFileSystem};
use picoclaw_policy::{CleanPath, PathRules, Protected, Reach, Zones};
use std::path::Path;
use std::time::Duration;

fn clean(path: &str) -> CleanPath {
    CleanPath::absolute(Path::new(path)).unwrap()
}

fn guard(mode: Mode) -> Guard {
    Guard::compile(&ExecConfig {
        enable_deny_patterns: true,
        custom_deny_patterns: vec![r"\bcurl\b.*--upload-file".to_owned()],
        custom_allow_patterns: vec![r"^git\s+push\s+origin\s+main$".to_owned()],
        timeout_seconds: 60,
        guard: mode,
        fence: picoclaw_policy::config::FenceMode::Full,
        on_block: OnBlock::Deny,
    })
    .unwrap()
}

/// The processor time of this thread: others on the machine do not count.
fn worked() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn judged(guard: &Guard, text: &str) -> Duration {
    let zones = Zones { workspace: vec![clean("/ws")], protected: Protected::default() };
    let rules = PathRules::default();
    let (cwd, home) = (clean("/ws"), clean("/home/user"));
    let context = GuardContext {
        zones: &zones,
        read_rules: &rules,
        write_rules: &rules,
        reach: Reach::Workspace,
        confinement: Confinement::Fence,
        cwd: &cwd,
        home: Some(&home),
        own: &[],
        script_is_input: false,
        dialect: Dialect::Bash,
        file_system: &NoFileSystem,
    };
    let start = worked();
    let judgement = guard.judge(text, &context);
    let spent = worked() - start;
    drop(judgement);
    spent
}

/// The inputs of the bench, and the slowest of them.
fn slowest(random: usize) -> (Duration, String) {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let random = (0..random).map(|_| inputs::random_input(&mut seed));
    let all: Vec<String> = random.chain((0..500).map(inputs::hostile_input)).collect();
    let mut slowest = Vec::new();
    for mode in [Mode::Strict, Mode::Smart] {
        let guard = guard(mode);
        judged(&guard, "ls");
        slowest.extend(all.iter().map(|text| (judged(&guard, text), text.clone())));
    }
    slowest.sort();
    for (took, text) in slowest.iter().rev().take(30) {
        let shown: String = text.chars().take(100).collect();
        eprintln!("{took:>10.1?} {:>6} bytes  {shown:?}", text.len());
    }
    slowest.pop().unwrap_or_default()
}

#[test]
fn no_input_takes_long() {
    // 50 ms in a release build, which is about twenty times as fast as an unoptimised one.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 50 });
    let (took, text) = slowest(1_000);
    assert!(took <= limit, "{took:?}: {}", text.chars().take(300).collect::<String>());
}

#[test]
fn modules_that_load_each_other_are_not_followed_without_end() {
    let loads = "import s;".repeat(2_000);
    let took = judged(&guard(Mode::Smart), &format!("echo '{loads}' > s.py; python3 s.py"));
    // Each load is counted by the length of its text: without that it takes twenty times as long.
    assert!(took <= Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 }), "{took:?}");
}
