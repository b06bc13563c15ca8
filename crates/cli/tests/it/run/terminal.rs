//! A terminal passes through: sizes, keys, bytes both ways, and the person's own is given back.

use super::pty::{Terminal, can_give_a_terminal};
use super::{Project, alive, is_here, marker};
use picoclaw_testing::wait_until;
use rustix::process::{Pid, Signal, kill_process};

fn ready(why: &str) -> Option<Project> {
    if can_give_a_terminal() { Project::new(why) } else { None }
}

fn on_terminal(project: &Project, line: &str) -> Terminal {
    Terminal::start(&project.command(&["--", "sh", "-c", line]))
}

#[test]
fn a_command_has_a_terminal_like_the_persons() {
    let Some(project) = ready("terminals") else { return };
    let line = "for fd in 0 1 2; do test -t $fd || echo no; done; stty size; stty -g; exec 3<>/dev/tty && echo own >&3; exit 6";
    let mut outside = project.command(&[]);
    outside = {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("stty erase ^H iutf8 -ixon; {line}")])
            .current_dir(outside.get_current_dir().unwrap());
        shell
    };
    let (_, want) = Terminal::start(&outside).end();
    let mut inside = std::process::Command::new("sh");
    let (binary, like) = (project.command(&[]).get_program().to_owned(), project.command(&[]));
    inside
        .args(["-c", &format!("stty erase ^H iutf8 -ixon; \"$PICO\" run -- sh -c '{line}'")])
        .current_dir(project.dir());
    inside.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PICO", binary);
    let (code, got) = Terminal::start(&inside).end();
    assert_eq!((code, got), (6, want), "as without a cage");
}

#[test]
fn a_new_size_is_passed_on() {
    let Some(project) = ready("sizes") else { return };
    let line = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut terminal = on_terminal(&project, line);
    terminal.until("ready");
    terminal.resize(44, 55);
    terminal.until("44 55");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn keys_mean_what_they_mean_without_a_cage() {
    let Some(project) = ready("keys") else { return };
    for (why, line, keys, code) in [
        ("Ctrl-C", "echo ready; exec sleep 1000", "\x03", 130),
        ("Ctrl-C, to a shell and what it runs", "exec bash -c 'echo ready; sleep 1000; exit 9'", "\x03", 130),
        ("Ctrl-C, handled", "trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done", "\x03", 7),
        ("Ctrl-\\", "ulimit -c 0; echo ready; exec sleep 1000", "\x1c", 131),
        ("Ctrl-D", "echo ready; cat; exit 8", "\x04", 8),
        ("a line", "echo ready; read line; test \"$line\" = 'héllo wörld' && exit 5", "héllo wörld\r", 5),
    ] {
        let mut terminal = on_terminal(&project, line);
        terminal.until("ready");
        assert!(terminal.is_raw(), "{why}: keys are passed on");
        terminal.type_in(keys);
        assert_eq!(terminal.end().0, code, "{why}");
    }
}

#[test]
fn the_persons_terminal_is_given_back_on_every_way_out() {
    let Some(project) = ready("settings") else { return };
    let messy = "stty raw -echo; printf ready; sleep 0.1; exit 3";
    let binary = project.command(&[]).get_program().to_owned();
    for (why, flags, line, signal, code) in [
        ("a plain end", "", "printf ready; exit 3", None, 3),
        ("it left its own in a mess", "", messy, None, 3),
        ("it was killed", "", "printf ready; kill -9 $$", None, 137),
        ("out of time", "--timeout 0.5", "printf ready; sleep 1000", None, 124),
        ("SIGTERM", "", "printf ready; exec sleep 1000", Some(Signal::TERM), 143),
        ("SIGINT", "", "printf ready; exec sleep 1000", Some(Signal::INT), 130),
        ("SIGHUP", "", "printf ready; exec sleep 1000", Some(Signal::HUP), 129),
        ("SIGQUIT", "", "printf ready; exec sleep 1000", Some(Signal::QUIT), 131),
        ("a cage that cannot be built", "--ro /no/such", "printf ready", None, 125),
        ("a cage that fails at its last", "--expose /usr/share:/usr/share/a/b:ro", "printf ready", None, 125),
        ("bad usage", "--expose x", "printf ready", None, 2),
    ] {
        let mut shell = std::process::Command::new("sh");
        let like = project.command(&[]);
        // The shell tells picoclaw's number, and stays to tell its status and hold the terminal.
        let script = format!(
            "sh -c 'echo number $$; exec \"$PICO\" run {flags} -- sh -c \"$LINE\"'; echo status $?; read wait"
        );
        shell.args(["-c", &script]).current_dir(project.dir()).env("LINE", line).env("PICO", &binary);
        shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut terminal = Terminal::start(&shell);
        terminal.until("number ");
        if let Some(signal) = signal {
            let picoclaw = terminal.child.id();
            terminal.until("ready");
            assert!(terminal.is_raw(), "{why}: the control");
            let children =
                std::fs::read_to_string(format!("/proc/{picoclaw}/task/{picoclaw}/children")).unwrap();
            kill_process(Pid::from_raw(children.trim().parse().unwrap()).unwrap(), signal).unwrap();
        }
        terminal.until(&format!("status {code}"));
        assert_eq!(terminal.settings(), terminal.first_settings, "{why}");
        terminal.type_in("\r");
        terminal.end();
    }
}

#[test]
fn what_was_said_last_is_not_lost() {
    let Some(project) = ready("output") else { return };
    for round in 0..10 {
        let (code, shown) =
            on_terminal(&project, "head -c 1000000 /dev/zero | tr '\\0' x; printf END; exit 4").end();
        assert_eq!((code, shown.len(), shown.ends_with("xEND")), (4, 1_000_003, true), "round {round}");
    }
}

#[test]
fn what_is_typed_is_not_lost() {
    let Some(project) = ready("input") else { return };
    let letters: String = (0..100_000_u32).map(|at| char::from(b'a' + (at * 7 % 26) as u8)).collect();
    let lines: String = (0..1_000).map(|number| format!("{number:099}\n")).collect();
    for (why, modes, head, text) in [
        ("100 KB at once, key by key", "raw -echo", "-c 100000", &letters),
        ("100 KB at once, line by line", "-echo", "-n 1000", &lines),
    ] {
        let mut terminal =
            on_terminal(&project, &format!("stty {modes}; echo ready; head {head} > typed; exit 0"));
        terminal.until("ready");
        terminal.type_in(text);
        assert_eq!(terminal.end().0, 0, "{why}");
        let typed = std::fs::read_to_string(project.dir().join("typed")).unwrap();
        assert!(typed == *text, "{why}: {} of {} bytes", typed.len(), text.len());
    }
    let mut ahead =
        Terminal::start(&project.command(&["--", "sh", "-c", "read line; test \"$line\" = early && exit 5"]));
    ahead.type_in("early\r");
    assert_eq!(ahead.end().0, 5, "typed before it was there");
}

#[test]
fn nobody_types_for_the_person() {
    let Some(project) = ready("TIOCSTI") else { return };
    if !is_here("python3") {
        return;
    }
    // 32 bits are compared: the upper half of a request is not looked at by the kernel.
    let attack = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n\
        for fd in (0, os.open('/dev/tty', os.O_RDWR)):\n for request in (0x5412, 0x541c, 0x541d, 0x5412 | 1 << 32):\n  \
        done = libc.syscall(16 if os.uname().machine == 'x86_64' else 29, fd, ctypes.c_ulong(request), b'x')\n  \
        print('refused' if done == -1 and ctypes.get_errno() == 1 else 'DONE', hex(request))";
    let (code, shown) = Terminal::start(&project.command(&["--", "python3", "-c", attack])).end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!((shown.matches("refused").count(), shown.matches("DONE").count()), (8, 0), "{shown}");
}

#[test]
fn a_redirected_stderr_stays_redirected() {
    let Some(project) = ready("stderr") else { return };
    let mut shell = Terminal::shell(&project);
    shell.type_in(
        "\"$PICO\" run -- sh -c 'test -t 2 || echo beside >&2; echo shown' 2> beside; echo status $?\r",
    );
    shell.until("shown\r\n");
    shell.until("status 0");
    assert_eq!(std::fs::read_to_string(project.dir().join("beside")).unwrap(), "beside\n");
    shell.type_in("\rexit\r");
    shell.end();
}

#[test]
fn closing_the_window_ends_the_command() {
    let Some(project) = ready("hang-ups") else { return };
    let mark = marker();
    for line in ["echo ready; exec sleep M", "trap '' HUP; echo ready; sleep M; sleep M"] {
        let mut terminal = on_terminal(&project, &line.replace('M', &mark));
        terminal.until("ready");
        let mut picoclaw = terminal.close();
        assert!(!picoclaw.wait().unwrap().success());
        wait_until(line, || alive(&mark) == 0);
    }
}

#[test]
fn a_command_that_lets_go_of_its_terminal_costs_nothing() {
    let Some(project) = ready("closed ends") else { return };
    let mut shell = std::process::Command::new("bash");
    let (binary, like) = (project.command(&[]).get_program().to_owned(), project.command(&[]));
    shell.args(["-c", "\"$PICO\" run -- sh -c 'exec <&- >&- 2>&-; sleep 2; exit 5'; echo status $?; times"]);
    shell.current_dir(project.dir()).env("PICO", binary);
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (_, shown) = Terminal::start(&shell).end();
    assert!(shown.contains("status 5"), "{shown}");
    let system = shown.lines().last().unwrap().split("0m").nth(2).unwrap().trim_end_matches(['s', '\r']);
    assert!(system.parse::<f64>().unwrap() < 1.0, "two seconds of waiting are not spent turning: {shown}");
}
