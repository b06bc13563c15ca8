//! The cost of judging. In full, by hand: `cargo test --release -p picoclaw-policy --test shell_cost --
//! --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

#[path = "shell_cost/inputs.rs"]
mod inputs;

use picoclaw_policy::config::{ExecConfig, Guard as Mode, OnBlock};
use picoclaw_policy::shell::guard::{Confinement, Guard, GuardContext, NoFileSystem};
use picoclaw_policy::shell::{Dialect, parse};
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
        dialect: Dialect::Bash,
        file_system: &NoFileSystem,
    };
    let start = worked();
    let judgement = guard.judge(text, &context);
    let spent = worked() - start;
    drop(judgement);
    spent
}

fn read_in(text: &str) -> Duration {
    let start = worked();
    let script = parse(text, Dialect::Bash);
    let spent = worked() - start;
    drop(script);
    spent
}

/// Inputs of about `size` bytes, each long in another way.
fn long(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("one long word", format!("echo {}", "a".repeat(size - 5))),
        ("many words", format!("echo {}", "ab ".repeat((size - 5) / 3))),
        ("many paths", format!("cat {}", "a/b ".repeat((size - 5) / 4))),
        ("many commands", "ls -l a;".repeat(size / 8)),
        ("a long pipeline", format!("a{}", "|bb".repeat(size / 3 - 1))),
        ("a chain", format!("a{}", "&&b".repeat(size / 3 - 1))),
        ("many assignments", "a=b;".repeat(size / 4)),
        ("many variables", (0..size / 9).map(|n| format!("a{n:05}=b;")).collect()),
        ("a variable that doubles", format!("a=bb;{}", "a=$a$a;".repeat(size / 7 - 1))),
        ("many substitutions", format!("echo {}", "$(b)".repeat(size / 4 - 2))),
        ("many globs", format!("ls {}", "* ".repeat(size / 2 - 2))),
        ("one long pattern", format!("ls {}", "*".repeat(size - 4))),
        ("many braces", format!("ls {}", "{a,b} ".repeat(size / 6 - 1))),
        ("nested loops", format!("{}ls;{}", "for a in b c;do ".repeat(20), "done;".repeat(20))),
        ("many loops", "for a in b;do c=$a$c;done;".repeat(size / 26)),
        ("many functions", (0..size / 20).map(|n| format!("f{n:05}() {{ a; }};f{n:05};")).collect()),
        (
            "functions that call",
            (0..size / 30).map(|n| format!("f{:05}() {{ f{n:05};f{n:05}; }};", n + 1)).collect::<String>()
                + "f00100",
        ),
        ("a here-document", format!("cat <<E\n{}\nE", "line of text\n".repeat(size / 13 - 2))),
        ("many redirections", format!("a {}", ">b ".repeat(size / 3 - 1))),
        ("many tests", "[ -f a ];".repeat(size / 9)),
        ("many cds", "cd a;".repeat(size / 5)),
        ("many conditions", "if a;then b=c;fi;".repeat(size / 17)),
        ("inline code", format!("python3 -c '{}'", "print(\"a\", \"b\")\n".repeat(size / 17))),
        ("inline shells", format!("python3 -c 'os.system({})'", "\"ls\",".repeat(size / 5 - 8))),
        ("strings in strings", format!("sh -c '{}'", "sh -c \"ls a\";".repeat(size / 13 - 1))),
        ("a sed script", format!("sed '{}' x", "s/a/b/;".repeat(size / 7 - 2))),
        ("replacements", "a=bbb;c=${a//b/cc};".repeat(size / 19)),
        ("slashes", format!("cat {}", "../".repeat(size / 3 - 2))),
    ]
}

#[test]
#[ignore = "a measurement, for a release build"]
fn what_judging_costs() {
    let start = worked();
    let strict = guard(Mode::Strict);
    judged(&strict, "ls");
    eprintln!("first judgement, rules loaded: {:?}", worked() - start);
    let smart = guard(Mode::Smart);
    for text in [
        "ls -la src",
        "git commit -m 'fix the reader' && git log --oneline -5",
        "grep -rn \"TODO\" --include='*.rs' src | wc -l",
        "find . -name '*.py' -print0 | xargs -0 grep -n foo",
        "for f in *.txt; do wc -l \"$f\"; done",
        "cd build && cmake .. && make -j4 2>&1 | tail -20",
    ] {
        for (name, guard) in [("strict", &strict), ("smart", &smart)] {
            let mut times: Vec<Duration> = (0..501).map(|_| judged(guard, text)).collect();
            times.sort();
            eprintln!("{name:7} {:>9.1?} median {:>9.1?} least  {text}", times[250], times[0]);
        }
    }
    for size in [4 * 1024, 16 * 1024, 64 * 1024] {
        for (name, text) in long(size) {
            let least = (0..3).map(|_| judged(&strict, &text)).min().unwrap_or_default();
            let reading = (0..3).map(|_| read_in(&text)).min().unwrap_or_default();
            eprintln!("{:>6} bytes {least:>10.2?} ({reading:>9.2?} of it reading)  {name}", text.len());
        }
    }
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
#[ignore = "a measurement, for a release build"]
fn the_slowest_inputs() {
    slowest(10_000);
}
