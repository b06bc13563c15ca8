//! What takes longer than a second says so on a terminal, and nowhere else.

use crate::model_server::{ModelServer, Said};
use crate::test_instance::TestInstance;
use crate::tmux::Tmux;
use picoclaw_testing::wait_until;
use std::time::{Duration, Instant};

const SLOW: &str = r#"tool exec '{"command": "sleep 3; echo slept"}'"#;

fn instance() -> TestInstance {
    TestInstance::with_config(r#"{"version": 3, "isolation": {"enabled": false}}"#)
}

#[test]
fn a_slow_command_shows_a_line_that_is_erased() {
    let instance = instance();
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line(&format!("clear; picoclaw {SLOW}"));
    tmux.says("the progress", "running exec · ");
    tmux.shows("the result alone", "slept\n$");
    assert!(!tmux.screen().contains(" · "), "it is erased: {}", tmux.screen());
}

#[test]
fn an_examination_is_quick_or_shows_a_line() {
    let instance = instance();
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    // Twice, once without the cage.
    tmux.line("clear; picoclaw doctor --fault all | tail -n 1");
    let (began, mut is_seen) = (Instant::now(), false);
    wait_until("the result", || {
        let screen = tmux.screen();
        is_seen |= screen.contains("trying in a cage what a child can do · ");
        screen.contains("cage that was just examined")
    });
    assert!(is_seen || began.elapsed() < Duration::from_secs(2), "{:?} without a word", began.elapsed());
    tmux.shows("the end", "$");
    assert!(!tmux.screen().contains(" · "), "it is erased: {}", tmux.screen());
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_visibly() {
    let instance = instance();
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    let added = instance.run(&["mcp", "add", "silent", "--", "/bin/sleep", "3"]);
    assert_eq!(added.code, 0, "{added:?}");
    tmux.line("clear; picoclaw mcp test silent");
    tmux.says("the progress", "connecting to silent · ");
    tmux.says("the result", "error: ");
    assert!(!tmux.screen().contains("connecting to silent · "), "{}", tmux.screen());
}

#[test]
fn a_model_that_thinks_is_waited_for_visibly() {
    let server = ModelServer::new(&[Said::Nothing]);
    let instance =
        TestInstance::new().with_env("OPENAI_API_KEY", "sk-test").with_env("OPENAI_BASE_URL", &server.base());
    let Some(tmux) = Tmux::shell(&instance, "40", instance.dir()) else { return };
    tmux.line("picoclaw agent -m hello");
    tmux.says("the progress", "thinking · ");
    tmux.keys(&["C-c"]);
    tmux.shows("the end", "$");
    assert!(!tmux.screen().contains("thinking"), "{}", tmux.screen());
}

#[test]
fn terminals_that_cannot_redraw_get_a_line_and_pipes_nothing() {
    let instance = instance();
    let piped = instance.tool("exec", r#"{"command": "sleep 2; echo slept"}"#);
    assert_eq!((piped.stdout.as_str(), piped.stderr.as_str()), ("slept\n", ""), "{piped:?}");
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line(&format!("clear; TERM=dumb picoclaw {SLOW}"));
    tmux.shows("one line", "running exec …\nslept\n$");
    tmux.line(&format!("clear; NO_COLOR=1 picoclaw {SLOW}"));
    tmux.says("the progress", "running exec · ");
    assert!(!tmux.colours().contains("\x1b["), "{:?}", tmux.colours());
    tmux.shows("the end", "slept\n$");
    tmux.line(&format!("clear; picoclaw {SLOW}"));
    tmux.says("the progress", "running exec · ");
    assert!(tmux.colours().contains("\x1b[2m"), "{:?}", tmux.colours());
}
