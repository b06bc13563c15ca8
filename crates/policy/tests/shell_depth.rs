//! Lines that nest by other means than brackets: commands that run commands. The guard must not
//! exhaust the stack.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use picoclaw_policy::config::Config;
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{Confinement, Guard, GuardContext, NoFileSystem};
use picoclaw_policy::{CleanPath, PathRules, Protected, Reach, Zones};
use std::path::Path;

/// Whether the guard lets `text` run.
fn allows(text: &str) -> bool {
    let clean = |path| CleanPath::absolute(Path::new(path)).unwrap();
    let (cwd, rules) = (clean("/ws"), PathRules::default());
    let context = GuardContext {
        zones: &Zones { workspace: vec![cwd.clone()], protected: Protected::default() },
        read_rules: &rules,
        write_rules: &rules,
        reach: Reach::Workspace,
        confinement: Confinement::Nothing,
        cwd: &cwd,
        home: None,
        own: &[],
        script_is_input: false,
        dialect: Dialect::Bash,
        file_system: &NoFileSystem,
    };
    Guard::compile(&Config::default().tools.exec).unwrap().judge(text, &context).is_allowed()
}

#[test]
fn wrappers_around_wrappers_are_refused_before_the_stack_ends() {
    for (why, again, end) in [
        ("wrappers of the environment", "env ", "ls"),
        ("two that take turns", "env nice ", "ls"),
        ("wrappers with operands of their own", "timeout 5 ", "ls"),
        ("the shell's own", "command ", "ls"),
        ("replacing the shell", "exec ", "ls"),
        ("builtins", "builtin ", "ls"),
        ("a string that is read again", "eval ", "ls"),
        ("a command put together from a list", "xargs ", "ls"),
        ("a command for each file", "find . -exec ", "ls {} \\;"),
        ("jobs", "parallel ", "ls"),
        ("again and again", "watch ", "ls"),
        ("a package's program", "npx ", "ls"),
        ("a verb before the command", "bundle exec ", "ls"),
        ("a lock", "flock x ", "ls"),
        ("a box of programs", "busybox ", "ls"),
    ] {
        for times in [2000, 200] {
            assert!(!allows(&format!("{}{end}", again.repeat(times))), "{why}: `{again}` {times} times");
        }
    }
}

#[test]
fn what_the_shell_itself_repeats_needs_no_stack() {
    for (why, again) in
        [("negations", "! "), ("timing", "time -p "), ("one shell, and its arguments", "sh -c ")]
    {
        assert!(allows(&format!("{}ls", again.repeat(2000))), "{why}: `{again}`");
    }
}

#[test]
fn a_few_wrappers_are_nothing_special() {
    for text in
        ["env nice nohup timeout 5 ls", "command env FOO=1 nice -n 5 stdbuf -oL ls -l", "time nice make -j4"]
    {
        assert!(allows(text), "`{text}`");
    }
}

/// The processor time of this thread: others on the machine do not count.
fn worked() -> std::time::Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

#[test]
fn every_construct_spends_the_budget() {
    let nested = |open: &dyn Fn(usize) -> String, inner: &str, close: &str| {
        format!("{}{inner}{}", (0..27).map(open).collect::<String>(), close.repeat(27))
    };
    for (why, text) in [
        ("loops", nested(&|n| format!("for v{n} in {n} x; do "), "((1)); ", "done; ")),
        ("loops over tests", nested(&|n| format!("for v{n} in {n} x; do "), "[[ a ]]; ", "done; ")),
        ("loops over assignments", nested(&|n| format!("for v{n} in {n} x; do "), "w=$w1; ", "done; ")),
        ("loops over nothing", nested(&|n| format!("for v{n} in {n} x; do "), ":; ", "done; ")),
        ("while loops", nested(&|n| format!("while v{n}=$v{n}x; do "), ":; ", "done; ")),
        ("arithmetic loops", nested(&|n| format!("for ((v{n}=0;v{n}<2;v{n}++)); do "), "((v1)); ", "done; ")),
        ("cases", nested(&|n| format!("case $v{n} in a) v{n}=b; "), ":; ", ";; b) x=$x1;; esac; ")),
        ("conditions", nested(&|n| format!("if v{n}=1; then v{n}=$v{n}2; "), ":; ", "else y=3; fi; ")),
        ("selections", nested(&|n| format!("select v{n} in {n} x; do "), "((1)); ", "done; ")),
        (
            "functions",
            (1..27).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n - 1, n - 1)).collect::<String>() + "f26",
        ),
    ] {
        let start = worked();
        allows(&text);
        let spent = worked() - start;
        // A debug build is about twenty times slower than a release build.
        assert!(spent < std::time::Duration::from_secs(2), "{why}: {spent:?}");
    }
}
