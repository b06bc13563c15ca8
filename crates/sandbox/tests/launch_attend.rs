//! A child in the foreground: status, signals and the terminal pass through a real process that stands between.
//!
//! The program runs itself as that process; `main` is the only test.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the rooms"
)]

#[expect(dead_code, reason = "each test file uses a part of it")]
mod launch_support;

use launch_support::{program, within_five_seconds};
use picoclaw_sandbox::launch::{
    Background, Output, State, Status, Stdin, Streams, WindowSize, attend, own_terminal,
};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::time::Duration;

const LINE: &str = "LAUNCH_ATTEND_LINE";

fn main() {
    if let Ok(line) = std::env::var(LINE) {
        std::process::exit(stand_between(&line));
    }
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    a_status_passes_through();
    signals_pass_through();
    a_terminal_is_relayed_and_put_back();
    a_suspended_relay_stops_and_goes_on();
}

/// What `picoclaw run` does.
fn stand_between(line: &str) -> i32 {
    let mut spec = program("/bin/sh", &["sh", "-c", line]);
    spec.streams = match own_terminal() {
        Some(size) => Streams::Terminal(size),
        None => Streams::Plain { stdin: Stdin::Inherit, output: Output::Inherit },
    };
    attend(spec).expect("a shell starts").exit_code()
}

/// This program as the one between, in the background.
struct Between {
    session: Background,
    number: i32,
    seen: RefCell<String>,
}

fn between(line: &str, streams: Streams) -> Between {
    let own = std::env::current_exe().expect("we are a file");
    let own = own.display();
    let after = "code=$?; stty -a 2>/dev/null | grep -q -- -icanon && echo left raw; exit $code";
    // Its shell says its own number first, so that signals go to it and not to its keeper.
    let script = match streams {
        Streams::Terminal(_) if line.contains("stty") => format!("echo between $$; {own}; {after}"),
        _ => format!("echo between $$; exec {own}"),
    };
    let mut spec = program("/bin/sh", &["sh", "-c", &script]);
    spec.environment.push((LINE.into(), line.into()));
    spec.streams = streams;
    let session = Background::start(spec).expect("a shell starts");
    let mut between = Between { session, number: 0, seen: RefCell::default() };
    between.until("\n");
    let text = between.seen.borrow().clone();
    let number = text.lines().find_map(|line| line.strip_prefix("between ")?.trim().parse().ok());
    between.number = number.expect("its number");
    between
}

impl Between {
    fn until(&self, want: &str) {
        within_five_seconds(want, || {
            self.seen.borrow_mut().push_str(&self.session.take_output().to_text());
            self.seen.borrow().contains(want)
        });
    }

    fn ends_with(&self, code: i32) {
        assert_eq!(self.session.wait(Duration::from_secs(10)), State::Ended(Status::Exited(code)));
    }
}

fn plain() -> Streams {
    Streams::Plain { stdin: Stdin::Null, output: Output::Merged }
}

fn send(number: i32, signal: Signal) {
    kill_process(Pid::from_raw(number).expect("a number"), signal).expect("it is ours");
}

fn a_status_passes_through() {
    for (line, code) in [("exit 7", 7), ("kill -KILL $$", 137)] {
        between(line, plain()).ends_with(code);
    }
}

fn signals_pass_through() {
    for (name, signal) in [("INT", Signal::INT), ("TERM", Signal::TERM), ("USR1", Signal::USR1)] {
        let line = format!("trap 'echo caught; exit 3' {name}; echo ready; while :; do sleep 0.05; done");
        let between = between(&line, plain());
        between.until("ready");
        send(between.number, signal);
        between.until("caught");
        between.ends_with(3);
    }
}

fn a_terminal_is_relayed_and_put_back() {
    let line = "stty size; read word; echo \"got $word\"; read word; stty size";
    let between = between(line, Streams::Terminal(WindowSize { rows: 20, columns: 70 }));
    between.until("20 70");
    between.session.write(b"hello\r").expect("the terminal takes text");
    between.until("got hello");
    between.session.resize(WindowSize { rows: 25, columns: 90 }).expect("a size");
    std::thread::sleep(Duration::from_millis(200));
    between.session.write(b"\r").expect("the terminal takes text");
    between.until("25 90");
    between.ends_with(0);
    assert!(!between.session.take_output().to_text().contains("left raw"), "the terminal is as it was");
}

fn a_suspended_relay_stops_and_goes_on() {
    let between =
        between("echo ready; read word; echo \"got $word\"", Streams::Terminal(WindowSize::default()));
    between.until("ready");
    send(between.number, Signal::TSTP);
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", between.number)).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next())
    };
    within_five_seconds("it stops", || state() == Some('T'));
    send(between.number, Signal::CONT);
    within_five_seconds("it goes on", || state() == Some('S'));
    between.session.write(b"again\r").expect("the terminal takes text");
    between.until("got again");
    between.ends_with(0);
}
