//! Everyday work runs in the cage: editors, servers, version control, builds, pipelines.

use crate::support::instance;
use picoclaw_sandbox::launch::{Background, Deadline, State, Status, Streams, WindowSize, run_to_end};
use picoclaw_testing::{PATIENCE, wait_until};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

fn is_here(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    picoclaw_sandbox::launch::find_program(OsStr::new(tool), &path, Path::new("/")).is_ok()
}

#[test]
fn everyday_commands_work() {
    let git = "git init -q . && git config user.email a@b && git config user.name a && git add -A && git commit -qm x && git log --oneline | wc -l";
    let cargo = "mkdir -p c/src && cd c && printf '[package]\\nname=\"c\"\\nversion=\"0.1.0\"\\nedition=\"2021\"\\n' > Cargo.toml && \
        printf '#[test] fn t() { assert_eq!(1 + 1, 2) }' > src/lib.rs && cargo test --offline 2>&1 | grep -c '1 passed'";
    let npm = "mkdir n && cd n && printf '{\"name\":\"n\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e \\\\\"console.log(6*7)\\\\\"\"}}' > package.json && npm test 2>&1 | tail -1";
    let serve = "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
        curl -s http://127.0.0.1:8123/mine && break; sleep 0.25; done";
    for (tool, line, want) in [
        ("vim", "vim -es -c q; echo $?", "0\n"),
        ("top", "top -b -n1 | grep -c PID", "1\n"),
        (
            "python3",
            "python3 -c 'import ssl, sqlite3, multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'",
            "[1, 2]\n",
        ),
        ("curl", serve, "mine"),
        ("node", "node -e 'console.log(1+1)'", "2\n"),
        ("git", git, "1\n"),
        ("cargo", cargo, "1\n"),
        ("npm", npm, "42\n"),
        (
            "make",
            "printf 'all: a b c d\\na b c d:\\n\\t@touch $@\\n' > Makefile && make -s -j4 && ls a b c d | wc -l",
            "4\n",
        ),
        ("sqlite3", "sqlite3 t.db 'create table t(a); insert into t values (42); select a from t'", "42\n"),
        ("sort", "head -c 100000000 /dev/zero | tr '\\0' 'a' | fold -w 99 | sort | wc -l", "1010102\n"),
        (
            "bash",
            "bash -c 'cat <(echo a) <(echo b); x=$(mktemp); echo $RANDOM > \"$x\"; rm \"$x\"'",
            "a\nb\n",
        ),
        ("gcc", "printf 'int main(){return 7;}' > t.c && gcc t.c -o t && ./t; echo $?", "7\n"),
        ("perl", "perl -e 'print 6*7'", "42"),
        ("id", "id -un >/dev/null && whoami >/dev/null; echo $?", "0\n"),
        ("tar", "tar cf - mine | tar tf -", "mine\n"),
        ("java", "java -version 2>&1 | grep -c -i version", "1\n"),
    ] {
        if !is_here(tool) {
            picoclaw_testing::skip!("{tool} is not installed");
            continue;
        }
        let mut place = instance();
        place.isolation.toolchains = "auto".into();
        let mut spec = place.spec(line, place.cage());
        spec.deadline = Deadline::After(Duration::from_secs(120));
        let finished = run_to_end(spec).expect(tool);
        let (out, err) = (finished.stdout.to_text(), finished.stderr.to_text());
        assert!(out == want, "{tool}: {:?} said `{out}`, not `{want}`\n{err}", finished.status);
    }
}

#[test]
fn an_interactive_shell_has_job_control() {
    if !is_here("bash") {
        picoclaw_testing::skip!("bash is not installed");
        return;
    }
    let place = instance();
    let mut spec = place.spec("", place.cage());
    spec.program = "/bin/bash".into();
    spec.argv = ["bash", "--norc", "--noprofile", "-i"].map(Into::into).into();
    spec.streams = Streams::Pty(WindowSize::default());
    let shell = Background::start(spec).expect("bash starts");
    let mut seen = String::new();
    let mut until = |want: &str| {
        wait_until(want, || {
            seen.push_str(&shell.take_output().to_text());
            seen.contains(want)
        });
    };
    shell.write(b"PS1='rea''dy> '\n").expect("it reads");
    until("ready> ");
    shell.write(b"sh -c 'echo st\"\"arted; sleep 1000'\n").expect("it reads");
    until("started");
    shell.send_keys("c-z").expect("a key");
    until("Stopped");
    shell.write(b"bg; jobs; kill %1; wait; echo do\"\"ne; exit 5\n").expect("it reads");
    until("Running");
    until("done");
    assert_eq!(shell.wait(PATIENCE), State::Ended(Status::Exited(5)));
}
