//! Job control, outside and inside: suspend and resume, in front and behind.
//!
//! The jobs are bash's: a stop that meets dash while it starts a program stops that one alone, in a cage or not.

use super::pty::{Terminal, can_give_a_terminal};
use super::{Project, is_here};

fn ready(why: &str) -> Option<Project> {
    if can_give_a_terminal() && is_here("bash") { Project::new(why) } else { None }
}

#[test]
fn a_job_is_suspended_and_goes_on_in_front_or_behind() {
    let Some(project) = ready("job control") else { return };
    project.file(
        "project/job.sh",
        "echo rea''dy; while ! test -e go; do sleep 0.05; done; echo went' 'on; exit 4",
    );
    let mut shell = Terminal::shell(&project);
    for (how, behind) in [("fg", false), ("bg", true)] {
        shell.type_in("\"$PICO\" run -- bash job.sh\r");
        shell.until("ready");
        shell.type_in("\x1a");
        shell.until("Stopped");
        shell.prompt();
        shell.type_in("jobs\r");
        shell.until("Stopped");
        shell.prompt();
        shell.type_in(&format!("{how}\r"));
        shell.until("run -- bash job.sh");
        if behind {
            shell.prompt();
        }
        std::fs::write(project.dir().join("go"), "").unwrap();
        shell.until("went on");
        if behind {
            shell.type_in("wait %1; echo status $?\r");
        } else {
            shell.prompt();
            shell.type_in("echo status $?\r");
        }
        shell.until("status 4");
        shell.prompt();
        std::fs::remove_file(project.dir().join("go")).unwrap();
    }
    shell.type_in("\"$PICO\" run -- bash job.sh\r");
    shell.until("ready");
    shell.type_in("\x1a");
    shell.until("Stopped");
    shell.prompt();
    shell.type_in("fg\r");
    shell.until("job.sh");
    while !shell.is_raw() {
        std::thread::yield_now();
    }
    shell.type_in("\x03");
    shell.prompt();
    shell.type_in("echo status $?\r");
    shell.until("status 130");
    shell.type_in("exit\r");
    shell.end();
}

#[test]
fn a_job_that_starts_behind_comes_to_the_front() {
    let Some(project) = ready("jobs behind") else { return };
    project.file("project/job.sh", "echo rea''dy; read line; echo got' '$line; exit 4");
    let mut shell = Terminal::shell(&project);
    shell.type_in("\"$PICO\" run -- bash job.sh &\r");
    shell.until("ready");
    shell.type_in("fg\r");
    shell.until("job.sh");
    while !shell.is_raw() {
        std::thread::yield_now();
    }
    shell.type_in("words\r");
    shell.until("got words");
    shell.prompt();
    shell.type_in("echo status $?\r");
    shell.until("status 4");
    shell.type_in("exit\r");
    shell.end();
}

#[test]
fn an_editor_suspends_itself() {
    let Some(project) = ready("editors").filter(|_| is_here("vim")) else { return };
    let mut shell = Terminal::shell(&project);
    shell.type_in("TERM=xterm \"$PICO\" run -- vim -u NONE -i NONE file\r");
    shell.until("[New");
    shell.type_in("itext\x1b\x1a");
    shell.until("Stopped");
    shell.prompt();
    shell.type_in("fg\r");
    shell.until("text");
    shell.type_in(":wq\r");
    shell.prompt();
    assert_eq!(std::fs::read_to_string(project.dir().join("file")).unwrap(), "text\n");
    shell.type_in("exit\r");
    shell.end();
}

#[test]
fn an_interactive_shell_inside_has_job_control() {
    let Some(project) = ready("an inner shell") else { return };
    // Who is in front can tell. A script goes on after Ctrl-C if what it runs ends well at that moment: hence the trap.
    let front = "ps -o stat= -p $$ | grep -q + && echo ti''ck";
    let job = format!(
        "trap 'echo going on' CONT; trap 'exit 130' INT; echo u''p; while :; do sleep 0.05; {front}; done"
    );
    project.file("project/job.sh", &job);
    let mut shell = Terminal::shell(&project);
    shell.type_in("\"$PICO\" run --env PS1='in''ner> ' -- bash --norc --noprofile -i\r");
    for (typed, shown) in [
        ("", "inner> "),
        ("bash job.sh\r", "up"),
        ("\x1a", "Stopped"),
        ("jobs\r", "Stopped                 bash job.sh"),
        ("bg\r", "going on"),
        ("fg\r", "bash job.sh"),
        ("", "tick"),
        ("\x1a", "Stopped"),
        ("fg\r", "going on"),
        ("\x03", "inner> "),
        ("echo status $?\r", "status 130"),
        ("suspend -f\r", "Stopped"),
        ("\r", "outer"),
        ("fg\r", "$PICO"),
        ("\recho ba''ck\r", "back"),
        ("exit 9\r", "outer"),
        ("echo status $?\r", "status 9"),
    ] {
        shell.type_in(typed);
        shell.until(shown);
    }
    shell.type_in("\rexit\r");
    shell.end();
}

#[test]
fn nothing_is_suspended_where_nobody_could_continue_it() {
    let Some(project) = ready("sessions without a shell") else { return };
    let line = "echo ready; while ! test -e go; do sleep 0.05; done; echo went on; exit 4";
    let mut terminal = Terminal::start(&project.command(&["--", "bash", "-c", line]));
    terminal.until("ready");
    terminal.type_in("\x1a");
    // Before its echo the terminal throws away what was written and is not read yet.
    terminal.until("^Z");
    std::fs::write(project.dir().join("go"), "").unwrap();
    terminal.until("went on");
    assert_eq!(terminal.end().0, 4);
}
