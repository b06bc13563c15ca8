//! A session with a model, every day: what an answer looks like, and what else can be typed.

use crate::model_server::{ModelServer, Said};
use crate::test_instance::TestInstance;
use crate::tmux::Tmux;

const ANSWER: &str = "# Done\n\nIt is **bold** and `code`:\n\n- one\n- two\n";

fn instance(server: &ModelServer, price: &str) -> TestInstance {
    let config = r#"{"model_list": [{"model_name": "m", "model": "openai/m", "api_base": "{base}"{price}}],
        "agents": {"defaults": {"max_llm_retries": 1, "llm_retry_backoff_secs": 1}}, "isolation": {"enabled": false}}"#;
    TestInstance::with_config(&config.replace("{base}", &server.base()).replace("{price}", price))
}

#[test]
fn an_answer_is_styled_and_an_edit_is_a_diff() {
    let edit = r#"{"path": "a.txt", "old_text": "two", "new_text": "2"}"#;
    let server = ModelServer::new(&[
        Said::Call("write_file", r#"{"path": "a.txt", "content": "one\ntwo\n"}"#),
        Said::Call("edit_file", edit),
        Said::Text(ANSWER),
    ]);
    let instance = instance(&server, r#", "price": {"input": 2, "output": 10}"#);
    for width in ["80", "40"] {
        let Some(tmux) = Tmux::agent(&instance, width) else { return };
        tmux.shows("ready", "main›");
        tmux.line("go on");
        tmux.says("the answer", "Done It is bold and code: • one • two");
        tmux.says("what it took", "tokens in,");
        tmux.says("what it cost", "cost 0.00");
        let screen = tmux.screen();
        assert!(!screen.contains("**") && !screen.contains("# Done"), "{screen}");
        if width == "80" {
            assert!(screen.contains("  + one\n  + two\n"), "{screen}");
            assert!(screen.contains("  - two\n  + 2\n"), "{screen}");
        } else {
            assert!(screen.contains("This session goes on"), "{screen}");
        }
        tmux.shows("ready", "main›");
        tmux.keys(&["C-d"]);
        tmux.shows("left", "left with 0");
    }
    assert_eq!(server.requests()[0].1["stream"], true, "answers stream in a session");
    // Without colours nothing is styled.
    let Some(tmux) = Tmux::shell(&instance, "80", instance.dir()) else { return };
    tmux.line("NO_COLOR=1 picoclaw agent");
    tmux.shows("ready", "main›");
    tmux.line("go on");
    tmux.says("as it was written", "# Done It is **bold** and `code`: - one - two");
}

#[test]
fn sessions_are_listed_left_and_taken_up() {
    let server = ModelServer::new(&[Said::Text("Yes.")]);
    let instance = instance(&server, "");
    let Some(tmux) = Tmux::agent(&instance, "80") else { return };
    tmux.shows("ready", "main›");
    assert!(!tmux.screen().contains("This session goes on"), "{}", tmux.screen());
    tmux.line("hello");
    tmux.says("an answer", "Yes.");
    tmux.shows("ready", "main›");
    tmux.line("/cost");
    tmux.says("the sum", "1 turn: 1.2k tokens in, 34 out");
    tmux.line("/new");
    tmux.says("a new one", "a new session: cli:2");
    tmux.line("another");
    tmux.says("an answer", "main› another Yes.");
    tmux.shows("ready", "main›");
    tmux.line("/resume");
    tmux.says("the list", "cli:default  2 messages");
    tmux.line("/resume cli:default");
    tmux.says("taken up", "going on with cli:default: 2 messages");
    tmux.line("/resume nothing");
    tmux.says("no such session", "there is no session `nothing`");
    tmux.line("/compact");
    tmux.says("too short", "there is nothing to summarise yet");
    tmux.shows("ready", "main›");
    tmux.keys(&["C-c"]);
    tmux.shows("the first", "to leave: Ctrl-C again, Ctrl-D, or `/exit`\nmain›");
    tmux.keys(&["C-c"]);
    tmux.shows("the second", "left with 0");
}

#[test]
fn a_person_has_a_session_summarised() {
    let turns = [Said::Text("First."), Said::Text("Second."), Said::Text("Third.")];
    let later = [Said::Text("They counted."), Said::Text("Fourth."), Said::Nothing];
    let server = ModelServer::new(&[&turns[..], &later].concat());
    let instance = instance(&server, "");
    let Some(tmux) = Tmux::agent(&instance, "80") else { return };
    tmux.shows("ready", "main›");
    for (line, answer) in [("one", "First."), ("two", "Second."), ("three", "Third.")] {
        tmux.line(line);
        tmux.says("an answer", answer);
        tmux.shows("ready", "main›");
    }
    tmux.line("/compact");
    tmux.says("the oldest turn", "2 messages became a summary");
    let asked = server.requests().last().unwrap().1["messages"].to_string();
    assert!(asked.contains("First.") && !asked.contains("Second."), "{asked}");
    tmux.line("four");
    tmux.says("it goes on", "Fourth.");
    let sent = server.requests().last().unwrap().1["messages"].to_string();
    assert!(sent.contains("They counted.") && sent.contains("Second."), "{sent}");
    assert!(!sent.contains("First."), "the summary stands for it: {sent}");
    tmux.shows("ready", "main›");
    // Another one takes too long.
    tmux.line("/compact");
    tmux.says("the wait", "summarising the oldest messages; Ctrl-C stops it · ");
    tmux.keys(&["C-c"]);
    tmux.shows("stopped", "stopped; the messages are as they were\nmain›");
    assert!(!tmux.screen().contains("summarising"), "{}", tmux.screen());
}

#[test]
fn a_command_of_the_person_runs_as_run_does() {
    let server = ModelServer::new(&[Said::Text("Yes.")]);
    let instance = instance(&server, "");
    let Some(tmux) = Tmux::agent(&instance, "80") else { return };
    tmux.shows("ready", "main›");
    std::fs::write(instance.workspace().join("notes.md"), "x").unwrap();
    tmux.line("!echo from the $((40 + 2)); exit 3");
    tmux.says("its end", "the command did not succeed");
    let screen = tmux.screen();
    if screen.contains("picoclaw run: ") && !screen.contains("from the 42") {
        picoclaw_testing::skip!("a command of the person: this host has no cage");
        return;
    }
    assert!(screen.contains("\nfrom the 42\n"), "{screen}");
    let records = instance.records();
    let run = records.iter().find(|record| record["tool"] == "run").unwrap();
    assert_eq!((&run["principal"], &run["origin"]), (&"terminal".into(), &"cli".into()), "{run}");
    assert!(server.requests().is_empty(), "no model saw it");
    tmux.keys(&["-l", "see @no"]);
    tmux.keys(&["Tab"]);
    tmux.shows("completed", "main› see @notes.md");
    tmux.keys(&["C-u"]);
    tmux.keys(&["-l", "@../"]);
    tmux.keys(&["Tab"]);
    tmux.shows("nothing above the workspace", "main› @../");
}

#[test]
fn a_wait_is_visible() {
    let server = ModelServer::new(&[
        Said::Fails(429, "Rate limit reached", "retry-after: 3\r\n"),
        Said::Text("At last."),
    ]);
    let instance = instance(&server, "");
    let Some(tmux) = Tmux::agent(&instance, "80") else { return };
    tmux.shows("ready", "main›");
    tmux.line("hello");
    tmux.says("why", "m: Rate limit reached (status 429); trying again in 3 s");
    tmux.says("for how long", "s before the next request");
    tmux.says("the answer", "At last.");
}
