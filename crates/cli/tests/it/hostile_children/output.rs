//! C14: what a command or a file says does not reach the operator's terminal as a control sequence, and edits keep
//! what they do not change.

use super::{Faults, is_here};
use crate::run::pty::{Terminal, can_give_a_terminal};
use crate::test_instance::TestInstance;

/// A new title, the clipboard, a hyperlink, a colour, a report that types an answer, 8-bit forms, and a cursor that
/// moves over what was written before.
const NASTY: &str = "one\x1b]0;title\x07two\x1b]52;c;cm0gLXJm\x07\x1b]8;;http://x\x1b\\three\x1b[31mfour\x1b[6n\u{9d}0;t\u{9c}\u{9b}31mfive\x1bP$q\x1b\\six\x08\x08\x08\x7f\tseven\r\nend\n";

fn instance() -> Option<TestInstance> {
    let config = r#"{"isolation": {"enabled": false}, "tools": {"exec": {"guard": "smart"}}}"#;
    let instance = TestInstance::with_config(config);
    assert_eq!(instance.tool("list_dir", "{}").code, 0);
    std::fs::write(instance.workspace().join("nasty"), NASTY).unwrap();
    can_give_a_terminal().then_some(instance)
}

#[test]
fn control_sequences_do_not_reach_a_terminal() {
    let mut faults = Faults::default();
    let Some(instance) = instance() else { return };
    for words in [
        &["tool", "exec", r#"{"command": "cat nasty"}"#][..],
        &["tool", "exec", r#"{"command": "cat nasty >&2; exit 1"}"#],
        &["tool", "read_file", r#"{"path": "nasty"}"#],
        &["agent", "-m", "cat nasty"],
    ] {
        let (_, shown) = Terminal::start(&instance.command(words)).end();
        for text in ["one", "two", "three", "four", "five", "six", "seven", "end"] {
            faults.check(shown.contains(text), format!("{words:?}: `{text}` is lost: {shown:?}"));
        }
        let control = |one: char| one.is_control() && !matches!(one, '\n' | '\r' | '\t');
        faults.check(!shown.contains(control), format!("{words:?}: {shown:?}"));
    }
}

#[test]
fn through_a_pipe_the_result_is_unchanged() {
    let Some(instance) = instance() else { return };
    for (tool, json) in [("exec", r#"{"command": "cat nasty"}"#), ("read_file", r#"{"path": "nasty"}"#)] {
        let told = instance.tool(tool, json);
        assert_eq!(told.stdout.trim_end(), NASTY.trim_end(), "{tool}: {told:?}");
    }
}

#[test]
fn edits_keep_user_attributes() {
    let mut faults = Faults::default();
    if !is_here("python3") {
        return;
    }
    let Some(instance) = instance() else { return };
    let file = instance.workspace().join("file");
    let python = |script: &str| {
        let path = file.to_str().unwrap();
        super::outside(&instance.workspace(), &["python3", "-c", &format!("import os, sys; {script}"), path])
    };
    for (tool, json) in [
        ("edit_file", r#"{"path": "file", "old_text": "one", "new_text": "two"}"#),
        ("append_file", r#"{"path": "file", "content": "more"}"#),
        ("write_file", r#"{"path": "file", "content": "all new"}"#),
    ] {
        std::fs::write(&file, "one").unwrap();
        let set = "os.setxattr(sys.argv[1], 'user.origin', b'kept'); os.setxattr(sys.argv[1], 'user.big', b'x' * 2000)";
        if python(set).code != 0 {
            picoclaw_testing::skip!("this file system has no user attributes");
            return;
        }
        let told = instance.tool(tool, json);
        assert_eq!(told.code, 0, "{tool}: {told:?}");
        let kept = python(
            "print(*(os.getxattr(sys.argv[1], name).decode() for name in ('user.origin', 'user.big')))",
        );
        faults.check(kept.stdout == format!("kept {}\n", "x".repeat(2000)), format!("{tool}: {kept:?}"));
    }
}
