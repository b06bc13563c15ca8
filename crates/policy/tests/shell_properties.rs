//! Properties for every text: no panic, spans inside the text, the same result every time.

use picoclaw_policy::shell::{Command, Dialect, Piece, Span, Visitor, Word, parse};
use proptest::prelude::*;

/// Shell text has few characters; arbitrary ones alone would rarely parse far.
fn soup() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        3 => proptest::sample::select(vec![
            "'", "\"", "`", "\\", "$", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "#", "\n", " ", "!", "*", "?", "~", "=", ",",
            "$(", "${", "$((", "))", "<<", "<<-", "<(", ";;", "&&", "||", "\\\n", "E", "\nE\n", "$'", "$\"", "\t", "@(", "if ", "then ", "fi",
            "case x in ", "esac", "[[ ", " ]]", "for x in ", "do ", "done", ":-", "+=", "x=", "x[", "..", "time ", "coproc ", "function ",
            "\r", "é", "\u{a0}", "{a,b}", "{1..3}", "a", "b c", "2>&1", "\\x41", "0",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat())
}

struct Spans<'a> {
    text: &'a str,
    wrong: Vec<Span>,
}

impl Spans<'_> {
    fn check(&mut self, span: Span) {
        if self.text.get(span.start..span.end).is_none() {
            self.wrong.push(span);
        }
    }
}

impl Visitor for Spans<'_> {
    fn command(&mut self, command: &Command) {
        self.check(command.span);
        for redirection in &command.redirections {
            self.check(redirection.span);
        }
    }

    fn word(&mut self, word: &Word) {
        self.check(word.span);
    }

    fn piece(&mut self, piece: &Piece) {
        self.check(piece.span);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_text_gets_one_answer_with_spans_inside_of_it(text in prop_oneof![soup(), any::<String>()]) {
        for dialect in [Dialect::Bash, Dialect::Posix] {
            let answer = parse(&text, dialect);
            prop_assert_eq!(&answer, &parse(&text, dialect));
            match answer {
                Ok(tree) => {
                    let mut spans = Spans { text: &text, wrong: Vec::new() };
                    tree.visit(&mut spans);
                    prop_assert!(spans.wrong.is_empty(), "{:?}", spans.wrong);
                }
                Err(refusal) => prop_assert!(text.get(refusal.span.start..refusal.span.end).is_some(), "{:?}", refusal),
            }
        }
    }

    #[test]
    fn a_posix_shell_is_never_read_more_freely_than_bash(text in soup()) {
        // Not a law of the grammar, but of this parser: it accepts for `sh` only what bash accepts,
        // too.
        if parse(&text, Dialect::Posix).is_ok() {
            prop_assert!(parse(&text, Dialect::Bash).is_ok(), "{:?}", parse(&text, Dialect::Bash));
        }
    }
}
