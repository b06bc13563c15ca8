//! Entry point of the parser, and its limits.

use super::cursor::{ParseResult, Parser, Size, Source, State};
use super::list::Stop;
use crate::shell::{Dialect, NotUnderstood, Script, Span};
use std::cell::Cell;

/// Maximum length of a text, in bytes.
pub const MAX_TEXT_LEN: usize = 64 * 1024;

/// Maximum nesting. Every level is a few stack frames, so this bounds the stack, too.
pub const MAX_DEPTH: usize = 64;

/// Maximum numbers of commands, words and pieces of words in one text. Larger texts belong in a
/// file.
pub(super) const MAX_COMMANDS: usize = 500;
pub(super) const MAX_WORDS: usize = 5_000;
pub(super) const MAX_PIECES: usize = 20_000;

/// Parses `text` as a shell of that dialect would.
pub fn parse(text: &str, dialect: Dialect) -> Result<Script, NotUnderstood> {
    parse_counting_steps(text, dialect).0
}

/// Parses `text`, and returns the number of steps as well.
pub(super) fn parse_counting_steps(text: &str, dialect: Dialect) -> (ParseResult<Script>, usize) {
    let mut state = State {
        dialect,
        depth: 0,
        substitutions: 0,
        lines: 0,
        extglob: text.contains("extglob"),
        arrays: 0,
        untranslated: !text.contains("TEXTDOMAIN"),
        size: Size::default(),
        steps: Cell::new(0),
    };
    if let Err(refusal) = is_readable(text, dialect) {
        return (Err(refusal), 0);
    }
    let result = Parser::new(Source::Whole(text), &mut state).script(Stop::Text);
    (result, state.steps.get())
}

fn is_readable(text: &str, dialect: Dialect) -> ParseResult<()> {
    if text.len() > MAX_TEXT_LEN {
        let what = format!("a text of {} bytes; {MAX_TEXT_LEN} is the limit", text.len());
        return Err(NotUnderstood { what, span: Span { start: 0, end: text.len() } });
    }
    let control = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r'));
    if let Some((start, c)) = control {
        let what = format!("the control character {}", c.escape_unicode());
        return Err(NotUnderstood { what, span: Span { start, end: start + c.len_utf8() } });
    }
    match dialect {
        Dialect::Bash => Ok(()),
        Dialect::Posix => refuse_split_operator(text),
        Dialect::PowerShell => {
            let what = "PowerShell, which has no parser here".to_owned();
            Err(NotUnderstood { what, span: Span { start: 0, end: text.len() } })
        }
    }
}

/// Older versions of dash and busybox do not look past a line continuation in the middle of an
/// operator.
fn refuse_split_operator(text: &str) -> ParseResult<()> {
    for (start, _) in text.match_indices("\\\n") {
        if text[..start].ends_with(['$', '&', '|', '<', '>', ';', '(', '{', '`']) {
            let what = "a line continuation inside an operator, which shells read differently".to_owned();
            return Err(NotUnderstood { what, span: Span { start, end: start + 2 } });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps per byte: a reserved word is looked for a few times where a command may begin.
    const STEPS_PER_BYTE: usize = 120;

    fn steps(text: &str, dialect: Dialect) -> usize {
        parse_counting_steps(text, dialect).1
    }

    #[test]
    fn the_work_grows_with_the_length_alone() {
        for unit in [
            "a;",
            "a ",
            "$x",
            "'",
            "''",
            "\"\"",
            "\\\n",
            "\\\\",
            "`",
            "``",
            "$(",
            "$()",
            "${x}",
            "${x:-",
            "{",
            "{}",
            "{a,",
            "{a,b}",
            ",",
            "[",
            "[]",
            "~",
            ",~",
            "a=~:",
            "((",
            "$((1))",
            "<<E\n",
            "<<E\nE\n",
            "a<<E\nx\\\n",
            "\n",
            "#",
            "# x\n",
            "a[1]=b ",
            "x=(a) ",
            "x=([a]=b) ",
            "if a;then b;fi;",
            "case x in a) b;;esac;",
            "[[ a ]];",
            "[[ a =~ (b) ]];",
            "f(){ a;};",
            "coproc a;",
            "1",
            "{x}",
            "{x}>y ",
            "2>&1 ",
            "!",
            "! ",
            "time ",
            "&",
            "a&",
            "|a",
            "@(a)",
            "*",
            "*(",
            "$'a'",
            "$\"a\"",
            "$[1]",
            "é",
            "<(a)",
            "a=",
            "$",
            "\t",
            "${x[1]}",
            "{1..2}",
            "$x{a,b}",
        ] {
            for frame in [
                "@",
                "a \"@\"",
                "a $(@)",
                "a `@`",
                "a <<E\n@\nE\n",
                "a {@}",
                "a ${x:-@}",
                "x=(@)",
                "((@))",
                "a @",
            ] {
                let text = frame.replace('@', &unit.repeat(8192 / unit.len()));
                for dialect in [Dialect::Bash, Dialect::Posix] {
                    let steps = steps(&text, dialect);
                    assert!(
                        steps <= STEPS_PER_BYTE * text.len(),
                        "`{unit}` in `{frame}`: {steps} for {}",
                        text.len()
                    );
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn no_repetition_costs_more_than_its_length(
            unit in "[a-c'\"`$(){}\\[\\]<>|&;#\n !*?~=,\\\\]{1,12}",
            frame in proptest::sample::select(vec!["@", "a \"@\"", "a $(@)", "a <<E\n@\nE\n", "a {@}", "a ${x:-@}", "x=(@)"]),
        ) {
            let text = frame.replace('@', &unit.repeat(4096 / unit.len()));
            for dialect in [Dialect::Bash, Dialect::Posix] {
                prop_assert!(steps(&text, dialect) <= STEPS_PER_BYTE * text.len());
            }
        }
    }
}
