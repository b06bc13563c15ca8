//! The screen of a session as a person sees it, drawn by a real terminal (tmux).

use super::scripted;
use crate::test_instance::TestInstance;
use crate::tmux::Tmux;
use picoclaw_testing::wait_until;

#[test]
fn a_session_looks_as_it_should() {
    let replies = r#"{"tool_calls": [{"name": "exec", "id": "1", "arguments": {"command": "seq 1 9"}}, {"name": "read_file", "id": "2", "arguments": {"path": "/etc/passwd"}}]}
        {"content": "There are nine."}
        {"tool_calls": [{"name": "exec", "id": "3", "arguments": {"command": "echo begun; sleep 30"}}]}"#;
    let instance = scripted(replies, r#", "isolation": {"enabled": false}"#);
    let Some(tmux) = Tmux::agent(&instance, "80") else { return };
    tmux.shows(
        "the greeting",
        "picoclaw · agent main · model s · session cli:default\n\
         `/help` lists what can be typed; Ctrl-C stops a turn, Ctrl-D leaves.\nmain›",
    );
    tmux.keys(&["count", "Enter"]);
    tmux.shows("the answer", "There are nine.\nmain›");
    let screen = tmux.screen();
    for line in [
        "main› count",
        "✓ exec seq 1 9 · allowed · ",
        "  │ 1\n  │ 2\n  │ 3\n  │ 4\n  │ (5 more lines)\n",
        "✗ read_file /etc/passwd · refused by workspace (policy) · ",
        "  │ access denied: path is outside the workspace\n",
    ] {
        assert!(screen.contains(line), "{line:?} in\n{screen}");
    }
    tmux.keys(&["go on", "Enter"]);
    wait_until("the moving line", || {
        let screen = tmux.screen();
        screen.contains("exec echo begun; sleep 30 · ") && screen.contains(" s · begun")
    });
    tmux.keys(&["and then"]);
    wait_until("what is typed meanwhile", || {
        tmux.screen().lines().last().is_some_and(|line| line.ends_with(" › and then"))
    });
    tmux.keys(&["Enter"]);
    wait_until("it is taken", || tmux.screen().contains("› and then  (the agent gets it after this step)\n"));
    tmux.keys(&["C-c"]);
    tmux.shows("the turn is stopped", "stopped\nmain›");
    let screen = tmux.screen();
    assert!(!screen.contains("⠋") && !screen.contains("stopping"), "the moving line is gone:\n{screen}");
    tmux.keys(&["C-c"]);
    tmux.shows("a hint", "to leave: Ctrl-C again, Ctrl-D, or `/exit`\nmain›");
    tmux.keys(&["C-d"]);
    tmux.shows("the end", "left with 0");
}

#[test]
fn lines_can_be_several_and_are_edited() {
    let instance = TestInstance::new();
    let Some(tmux) = Tmux::agent(&instance, "60") else { return };
    tmux.shows("ready", "main›");
    tmux.keys(&["echo one \\", "Enter", "two", "Enter"]);
    tmux.shows("a backslash goes on, as in a shell", "one two\nmain›");
    tmux.keys(&["echo wrong", "C-w", "correct", "Enter"]);
    tmux.shows("corrected", "correct\nmain›");
    tmux.keys(&["Up", "Up", "Up", "Down", "Down", "Enter"]);
    wait_until("from the history", || tmux.screen().matches("exec echo correct · allowed").count() == 2);
    tmux.shows(
        "ready again",
        "correct
main›",
    );
    tmux.keys(&["/he", "Tab", "Enter"]);
    tmux.shows("completed", "/exit       leave (so do `exit`, `quit` and Ctrl-D)\nmain›");
    tmux.keys(&["C-d"]);
    tmux.shows("the end", "left with 0");
}
