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
