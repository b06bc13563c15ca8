//! Laws of the guard for every text: no panic, denying more never allows more, and the verdict
//! depends on the inputs alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_policy::config::{ExecConfig, Guard as Mode, OnBlock};
use picoclaw_policy::shell::Dialect;
use picoclaw_policy::shell::guard::{Confinement, Guard, GuardContext, Judgement, Kind, NoFileSystem};
use picoclaw_policy::{CleanPath, PathRules, Protected, Reach, Zones};
use proptest::prelude::*;
use std::path::Path;

fn clean(path: &str) -> CleanPath {
    CleanPath::absolute(Path::new(path)).unwrap()
}

fn config(mode: Mode) -> ExecConfig {
    ExecConfig {
        enable_deny_patterns: true,
        custom_deny_patterns: Vec::new(),
        custom_allow_patterns: Vec::new(),
        timeout_seconds: 60,
        guard: mode,
        fence: picoclaw_policy::config::FenceMode::Full,
        on_block: OnBlock::Deny,
    }
}

fn judge(
    config: &ExecConfig,
    text: &str,
    reach: Reach,
    confinement: Confinement,
    dialect: Dialect,
) -> Judgement {
    let zones = Zones {
        workspace: vec![clean("/home/u/.picoclaw/workspace")],
        protected: Protected { trees: vec![clean("/home/u/.picoclaw")], readable: Vec::new() },
    };
    let rules = PathRules::default();
    let (cwd, home) = (clean("/home/u/.picoclaw/workspace"), clean("/home/u"));
    let context = GuardContext {
        zones: &zones,
        read_rules: &rules,
        write_rules: &rules,
        reach,
        confinement,
        cwd: &cwd,
        home: Some(&home),
        own: &[],
        script_is_input: false,
        dialect,
        file_system: &NoFileSystem,
    };
    Guard::compile(config).unwrap().judge(text, &context)
}

fn smart(text: &str) -> Judgement {
    judge(&config(Mode::Smart), text, Reach::Workspace, Confinement::Fence, Dialect::Bash)
}

/// Texts made of shell fragments: most of them parse, and many have effects.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm",
        "-rf",
        "-r",
        "ls",
        "cat",
        "echo",
        "x",
        "/etc/passwd",
        "..",
        "../x",
        "~",
        "$HOME",
        "$x",
        "${x}",
        "${x%y}",
        "$(",
        ")",
        "`",
        "\"",
        "'",
        ";",
        "&&",
        "||",
        "|",
        "&",
        ">",
        ">>",
        "<",
        "<<<",
        "{",
        "}",
        "(",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "x=rm",
        "x=",
        "sh",
        "-c",
        "eval",
        "xargs",
        "find",
        "-exec",
        "{}",
        "\\;",
        "cd",
        "git",
        "push",
        "sudo",
        "*",
        "?",
        "[a]",
        "{a,b}",
        "=",
        "$'\\x72'",
        "\\",
        "\n",
        "#",
        "!",
        "f()",
        "f",
        "function",
        "[[",
        "]]",
        "[",
        "]",
        "-f",
        "$((",
        "))",
        "1",
        "+",
        "python3",
        "<(",
        "curl",
        "http://x",
        "sed",
        "s/a/b/e",
        "tar",
        "awk",
        "é",
        "$@",
        "$1",
    ]);
    prop::collection::vec((piece, prop::bool::weighted(0.8)), 0..24).prop_map(|pieces| {
        pieces
            .into_iter()
            .map(|(piece, blank)| if blank { format!("{piece} ") } else { piece.to_owned() })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        for dialect in [Dialect::Bash, Dialect::Posix] {
            let _ = judge(&config(Mode::Strict), &text, Reach::Workspace, Confinement::Nothing, dialect);
        }
    }

    #[test]
    fn a_longer_deny_list_never_allows_more(text in texts(), pattern in "[a-z/ -]{1,4}") {
        let short = config(Mode::Smart);
        let long = ExecConfig { custom_deny_patterns: vec![regex_literal(&pattern)], ..short.clone() };
        let before = judge(&short, &text, Reach::Workspace, Confinement::Nothing, Dialect::Bash);
        let after = judge(&long, &text, Reach::Workspace, Confinement::Nothing, Dialect::Bash);
        prop_assert!(before.is_allowed() || !after.is_allowed(), "`{text}`");
    }

    #[test]
    fn strict_allows_nothing_that_smart_refuses(text in texts()) {
        let strict = judge(&config(Mode::Strict), &text, Reach::Workspace, Confinement::Fence, Dialect::Bash);
        prop_assert!(!strict.is_allowed() || smart(&text).is_allowed(), "`{text}`");
    }

    #[test]
    fn a_verdict_depends_on_nothing_but_its_inputs(text in texts()) {
        prop_assert_eq!(smart(&text), smart(&text));
    }

    #[test]
    fn what_is_refused_alone_is_refused_behind_anything(text in texts()) {
        // With any prefix, as long as the whole still parses, a refused command stays refused.
        let alone = smart(&text);
        if alone.finding.as_ref().is_some_and(|finding| finding.kind == Kind::Danger) {
            let behind = smart(&format!("true; {text}"));
            prop_assert!(!behind.is_allowed(), "`{text}`");
        }
    }

    #[test]
    fn freeing_paths_never_lifts_danger(text in texts()) {
        let anywhere = Reach::Anywhere("restrict_to_workspace");
        let free = judge(&config(Mode::Smart), &text, anywhere, Confinement::Nothing, Dialect::Bash);
        let danger = |judgement: &Judgement| judgement.finding.as_ref().is_some_and(|finding| finding.kind == Kind::Danger);
        prop_assert!(!danger(&smart(&text)) || danger(&free), "`{text}`");
    }
}

fn regex_literal(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\x{{{:x}}}", c as u32) })
        .collect()
}

#[test]
fn a_walk_as_deep_as_the_reader_allows_does_not_exhaust_the_stack_of_a_thread() {
    // The stack that an ordinary thread gets.
    let deep = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        for (open, close) in [
            ("(", ")"),
            ("{ ", ";}"),
            ("if ", ";then a;fi"),
            ("$(", ")"),
            ("while ", ";do a;done"),
            ("sh -c '", "'"),
        ] {
            for depth in [10, 60, 64, 500] {
                let text = format!("{}ls{}", open.repeat(depth), close.repeat(depth));
                let _ = smart(&text);
            }
        }
        let calls: String = (0..60).map(|n| format!("f{}() {{ (f{n}) }};", n + 1)).collect();
        let _ = smart(&format!("{calls} f60"));
        let mut nested = "ls".to_owned();
        for _ in 0..10 {
            nested = format!("eval {}", quoted(&nested));
        }
        let _ = smart(&nested);
    });
    deep.unwrap().join().unwrap();
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
