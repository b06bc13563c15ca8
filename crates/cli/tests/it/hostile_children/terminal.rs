//! C1: no caged process holds a terminal of the host, whichever of its three streams is one.

use super::{Bwrap, Faults, Landlock, Level, Native, Project, is_here};
use crate::run::pty::{Terminal, can_give_a_terminal};
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

/// Notes which file each stream is, and whether that is a terminal.
const STREAMS: &str = "import os
with open('streams', 'w') as notes:
    for fd in range(3):
        stat = os.fstat(fd)
        print(fd, f'{stat.st_dev}:{stat.st_ino}', os.isatty(fd), file=notes)";

/// Reads from the descriptor that it is given for as long as it can, and notes what it got.
const READER: &str = "import os, signal, sys, time
signal.alarm(60)
signal.signal(signal.SIGTTIN, signal.SIG_IGN)
got = os.open('got', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
fd = int(sys.argv[1])
os.write(got, b'up\\n')
while True:
    try: data = os.read(fd, 4096)
    except OSError: data = b''
    os.write(got, data)
    data or time.sleep(0.05)";

/// A project on a terminal, with `../launch` beside it: the command in a cage, its number in `../number`.
struct Launch {
    project: Project,
}

impl Launch {
    fn new(level: Level, flags: &[&str], words: &[&str]) -> Option<Self> {
        let project = Project::new(level).filter(|_| can_give_a_terminal() && is_here("bash"))?;
        let command = project.command(flags, words);
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let quoted = words.map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''")));
        let quoted: Vec<String> = quoted.collect();
        project.file("launch", &format!("echo $$ > ../number\nexec {}\n", quoted.join(" ")));
        Some(Self { project })
    }

    /// A shell on a new terminal, as the operator's.
    fn shell(&self, arguments: &[&str]) -> Terminal {
        let like = self.project.command(&[], &[]);
        let mut shell = Command::new("bash");
        shell.args(arguments).current_dir(self.project.dir());
        shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Terminal::start(shell.env("PS1", "outer\\$ "))
    }

    /// Sends picoclaw a signal.
    fn kill(&self, signal: Signal) {
        let number = std::fs::read_to_string(self.project.instance.dir().join("number")).unwrap();
        kill_process(Pid::from_raw(number.trim().parse().unwrap()).unwrap(), signal).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.dir().join(name)).unwrap_or_default()
    }
}

/// Ends the operator's shell, whatever state its terminal is in.
fn leave(shell: Terminal) {
    let mut shell = shell.close();
    shell.kill().unwrap();
    shell.wait().unwrap();
}

fn redirected(terminals: u8) -> String {
    let parts = ["</dev/null", ">out", "2>err"];
    let kept = (0..3).filter(|fd| terminals & (1 << fd) == 0).map(|fd| parts[fd]);
    kept.collect::<Vec<_>>().join(" ")
}

#[test]
fn no_stream_is_the_terminal_of_the_host() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(launch) = Launch::new(level, &[], &["python3", "-c", STREAMS]) else { continue };
        for terminals in 0..8_u8 {
            let redirect = redirected(terminals);
            let line = format!(
                "rm -f streams; stat -Lc %d:%i /dev/fd/0 > host; sh ../launch {redirect}; echo status $?"
            );
            let (_, shown) = launch.shell(&["-c", &line]).end();
            let why = format!("{level:?} `{redirect}`");
            assert!(shown.contains("status 0"), "{why}: {shown}");
            let host = launch.read("host");
            let streams = launch.read("streams");
            for (fd, line) in streams.lines().enumerate() {
                faults.check(!line.contains(host.trim()), format!("{why}: {line} is the host's"));
                let is_terminal = if terminals & (1 << fd) == 0 { "False" } else { "True" };
                faults.check(line.ends_with(is_terminal), format!("{why}: {line}, not {is_terminal}"));
            }
            assert_eq!(streams.lines().count(), 3, "{why}: {streams}");
        }
    }
}

/// Types at the host's prompt while the reader runs in the background; what it must not get is noted.
fn typed_at_the_prompt(faults: &mut Faults, level: Level, redirect: &str, from: u8) {
    let words = ["python3", "-c", READER, &from.to_string()];
    let Some(launch) = Launch::new(level, &[], &words) else { return };
    let mut shell = launch.shell(&["--norc", "--noprofile", "-i"]);
    shell.prompt();
    shell.type_in(&format!("sh ../launch {redirect} &\r"));
    wait_until("the reader runs", || launch.read("got").contains("up"));
    for round in 0..3 {
        shell.type_in(&format!("echo se''cret-{round}\r"));
        std::thread::sleep(Duration::from_millis(300));
        if launch.read("got").contains("cret") {
            break;
        }
        shell.until(&format!("secret-{round}\r\n"));
    }
    let got = launch.read("got");
    faults.check(!got.contains("cret"), format!("{level:?} `{redirect}` from {from}: it read {got:?}"));
    launch.kill(Signal::KILL);
    leave(shell);
}

#[test]
fn a_job_in_the_background_reads_nothing_where_all_three_are_terminals() {
    typed_at_the_prompt(&mut Faults::default(), Native, "", 0);
}

#[test]
fn a_job_in_the_background_reads_nothing_from_its_standard_input() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        typed_at_the_prompt(&mut faults, level, "> log", 0);
        typed_at_the_prompt(&mut faults, level, "> log 2>&1", 0);
    }
}

#[test]
fn a_job_in_the_background_reads_nothing_through_its_outputs() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        typed_at_the_prompt(&mut faults, level, "< /dev/null > log", 2);
        typed_at_the_prompt(&mut faults, level, "< /dev/null 2> log", 1);
    }
}

#[test]
fn in_front_it_reads_what_is_typed() {
    for level in [Native, Bwrap, Landlock] {
        let line = "read line; echo \"got $line\"; test -t 0 && echo terminal";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        let mut shell = launch.shell(&["-c", "sh ../launch | cat; echo status ${PIPESTATUS[0]}"]);
        shell.type_in("words\r");
        shell.until("got words");
        shell.until("terminal");
        assert!(shell.end().1.contains("status 0"), "{level:?}");
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", "echo up; exec sleep 1000"]) else {
            continue;
        };
        let mut shell = launch.shell(&["-c", "trap : INT; sh ../launch | cat; echo status ${PIPESTATUS[0]}"]);
        shell.until("up");
        shell.type_in("\x03");
        let (_, shown) = shell.end();
        assert!(shown.contains("status 130"), "{level:?}: Ctrl-C: {shown}");
    }
}

/// Changes the settings of the terminal behind `fd`, and ends in some way.
fn settings_after(
    faults: &mut Faults,
    level: Level,
    redirect: &str,
    fd: u8,
    (why, flags, tail, signal): Way,
) {
    let line = format!("stty raw -echo <&{fd}; touch up; {tail}");
    let Some(launch) = Launch::new(level, flags, &["sh", "-c", &line]) else { return };
    let mut shell = launch.shell(&["-c", &format!("sh ../launch {redirect}; echo do''ne; read wait")]);
    if let Some(signal) = signal {
        wait_until("it runs", || launch.project.dir().join("up").exists());
        launch.kill(signal);
    }
    shell.until("done");
    assert!(launch.project.dir().join("up").exists(), "{level:?} {why}: it did not run");
    let same = shell.settings() == shell.first_settings;
    faults.check(same, format!("{level:?} `{redirect}` {why}: {}", shell.settings()));
    leave(shell);
}

/// Why, the flags of `run`, how the line ends, and a signal to picoclaw.
type Way = (&'static str, &'static [&'static str], &'static str, Option<Signal>);

const WAYS: &[Way] = &[
    ("a plain end", &[], "exit 3", None),
    ("killed", &[], "kill -9 $$", None),
    ("out of time", &["--timeout", "5"], "sleep 1000", None),
    ("SIGTERM", &[], "exec sleep 1000", Some(Signal::TERM)),
    ("SIGINT", &[], "exec sleep 1000", Some(Signal::INT)),
    ("SIGHUP", &[], "exec sleep 1000", Some(Signal::HUP)),
];

#[test]
fn settings_are_unchanged_behind_a_pipe() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        WAYS.iter().for_each(|&way| settings_after(&mut faults, level, "| cat", 0, way));
    }
}

#[test]
fn settings_are_unchanged_whichever_stream_is_the_terminal() {
    let mut faults = Faults::default();
    for (redirect, fd) in [("> log 2>&1", 0), ("< /dev/null 2> log", 1), ("< /dev/null > log", 2)] {
        WAYS.iter().for_each(|&way| settings_after(&mut faults, Native, redirect, fd, way));
    }
}

#[test]
fn a_terminal_has_a_name() {
    for level in [Native, Bwrap, Landlock] {
        let line = "tty && echo by' 'name > $(tty); test $(tty | cut -d/ -f2) = dev";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        for redirect in ["", "2> log"] {
            let (_, shown) = launch.shell(&["-c", &format!("sh ../launch {redirect}; echo status $?")]).end();
            assert!(shown.contains("by name\r\n") && shown.contains("status 0"), "{level:?}: {shown}");
        }
    }
}

/// Keys are for the command that reads them: a caged one in the same pipeline takes none and changes no setting.
#[test]
fn another_command_of_the_pipeline_reads_its_keys() {
    for level in [Native, Bwrap, Landlock] {
        let line = "echo u''p >&2; exec sleep 1000";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        let other = "(read line < /dev/tty; echo other got $line; kill -9 $(cat ../number))";
        let mut shell = launch.shell(&["-c", &format!("sh ../launch | {other}")]);
        shell.until("up");
        assert!(!shell.is_raw(), "{level:?}");
        shell.type_in("words\r");
        shell.until("other got words");
        shell.end();
    }
}

#[test]
fn line_ends_are_as_without_a_cage() {
    for level in [Native, Bwrap, Landlock] {
        let line = r"printf 'one\ntwo\r\n\tthree\rfour\n' >&2";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        launch.project.file("bare", line);
        for redirect in ["", "< /dev/null", "> log", "| cat", "< /dev/null > log", "& wait", "> log & wait"] {
            let shown = |script: &str| launch.shell(&["-c", &format!("sh {script} {redirect}")]).end().1;
            assert_eq!(shown("../launch"), shown("../bare"), "{level:?} `{redirect}`");
        }
    }
}

/// A terminal that is no session's, as a serial line: its slave side by name, and what is to be kept.
fn free_terminal() -> (String, [OwnedFd; 2]) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    let name = std::fs::read_link(format!("/proc/self/fd/{}", slave.as_raw_fd())).unwrap();
    (name.to_str().unwrap().to_owned(), [master, slave])
}

#[test]
fn a_terminal_without_a_session_is_read() {
    for level in [Native, Bwrap, Landlock] {
        let line = "test -t 0 && test -t 1 && read line && echo \"got $line\"";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        let (name, [master, _slave]) = free_terminal();
        let mut shell = launch.shell(&["-c", &format!("sh ../launch < {name}; echo status $?")]);
        rustix::io::write(&master, b"words\n").unwrap();
        shell.until("got words");
        shell.until("status 0");
        shell.end();
    }
}

#[test]
fn a_terminal_of_another_session_is_not_read() {
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        for line in [
            "sh ../launch < $(cat ../other) > log",
            "setsid sh ../launch > log",
            "setsid sh ../launch < /dev/tty",
        ] {
            let words = ["python3", "-c", READER, "0"];
            let Some(launch) = Launch::new(level, &[], &words) else { continue };
            let mut other = launch.shell(&["--norc", "--noprofile", "-i"]);
            other.prompt();
            other.type_in("tty > ../other\r");
            other.prompt();
            let mut shell = launch.shell(&["--norc", "--noprofile", "-i"]);
            shell.prompt();
            shell.type_in(&format!("{line} &\r"));
            wait_until("the reader runs", || launch.read("got").contains("up"));
            for prompt in [&mut other, &mut shell] {
                prompt.type_in("echo se''cret\r");
                prompt.until("secret\r\n");
                prompt.type_in("echo se''cret\r");
                prompt.until("secret\r\n");
            }
            let got = launch.read("got");
            faults.check(!got.contains("cret"), format!("{level:?} `{line}`: it read {got:?}"));
            launch.kill(Signal::KILL);
            leave(shell);
            leave(other);
        }
    }
}

#[test]
fn a_job_in_the_background_stops_when_it_reads_and_goes_on_in_front() {
    for level in [Native, Bwrap, Landlock] {
        let line = "read line; echo \"got $line\"; exit 3";
        let Some(launch) = Launch::new(level, &[], &["bash", "-c", line]) else { continue };
        let mut shell = launch.shell(&["--norc", "--noprofile", "-i"]);
        shell.prompt();
        shell.type_in("sh ../launch > log &\r");
        wait_until("it is stopped", || {
            shell.type_in("jobs\r");
            shell.prompt();
            shell.all().contains("Stopped")
        });
        shell.type_in("fg\r");
        shell.until("launch > log");
        wait_until("keys are passed on", || shell.is_raw());
        shell.type_in("words\r");
        wait_until("it got them", || launch.read("log") == "got words\n");
        wait_until("the terminal is given back", || !shell.is_raw());
        shell.type_in("echo status $?\r");
        shell.until("status 3");
        leave(shell);
    }
}

#[test]
fn what_is_typed_and_shown_is_complete_in_a_pipeline() {
    let lines: String = (0..1_000).map(|number| format!("{number:099}\n")).collect();
    for level in [Native, Bwrap, Landlock] {
        let line = "stty -echo <&2; echo rea''dy >&2; head -n 1000 | tee /dev/stderr";
        let Some(launch) = Launch::new(level, &[], &["sh", "-c", line]) else { continue };
        let mut shell = launch.shell(&["-c", "sh ../launch > typed; echo en''d"]);
        shell.until("ready\r\n");
        shell.type_in(&lines);
        let (_, shown) = shell.end();
        assert!(launch.read("typed") == lines, "{level:?}: {} bytes", launch.read("typed").len());
        assert!(shown == lines.replace('\n', "\r\n") + "end\r\n", "{level:?}: {} bytes", shown.len());
    }
}

/// A terminal that takes no more output holds up neither a deadline nor a signal.
#[test]
fn a_terminal_that_nobody_reads_holds_nothing_up() {
    for level in [Native, Bwrap, Landlock] {
        for (flags, signal, status) in
            [(&["--timeout", "5"][..], None, "124\n"), (&[], Some(Signal::TERM), "143\n")]
        {
            let line = "touch up; exec yes";
            let Some(launch) = Launch::new(level, flags, &["sh", "-c", line]) else { continue };
            let line = "sh ../launch < /dev/null 2> log; echo $? > status";
            let shell = launch.shell(&["-c", line]);
            wait_until("it runs", || launch.project.dir().join("up").exists());
            signal.into_iter().for_each(|signal| launch.kill(signal));
            wait_until("it ends", || launch.read("status") == status);
            leave(shell);
        }
    }
}
