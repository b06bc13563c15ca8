//! Where reading starts: the limits, and what is no text for a shell at all.
//!
//! Invariant: nothing beyond [`LONGEST`] bytes, [`DEEPEST`] levels or so many commands is looked into.

use super::cursor::{Read, Reader, Size, Source, State};
use super::list::Stop;
use crate::shell::{Dialect, NotUnderstood, Script, Span};
use std::cell::Cell;

/// The longest text that is read, in bytes.
pub const LONGEST: usize = 64 * 1024;

/// The deepest nesting that is read. Every level is a few stack frames, so this bounds the stack, too.
pub const DEEPEST: usize = 64;

/// The most commands, words and pieces of words that one text may have. What is larger belongs into a file.
pub(super) const MOST_COMMANDS: usize = 500;
pub(super) const MOST_WORDS: usize = 5_000;
pub(super) const MOST_PIECES: usize = 20_000;

/// Reads `text` as the shell of that dialect would.
pub fn read(text: &str, dialect: Dialect) -> Result<Script, NotUnderstood> {
    read_counted(text, dialect).0
}

/// Reads `text`, and says how many steps that took.
pub(super) fn read_counted(text: &str, dialect: Dialect) -> (Read<Script>, usize) {
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
    let result = Reader::new(Source::Whole(text), &mut state).script(Stop::Text);
    (result, state.steps.get())
}

fn is_readable(text: &str, dialect: Dialect) -> Read<()> {
    if text.len() > LONGEST {
        let what = format!("a text of {} bytes; {LONGEST} is the limit", text.len());
        return Err(NotUnderstood { what, span: Span { start: 0, end: text.len() } });
    }
    let control = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r'));
    if let Some((start, c)) = control {
        let what = format!("the control character {}", c.escape_unicode());
        return Err(NotUnderstood { what, span: Span { start, end: start + c.len_utf8() } });
    }
    if dialect == Dialect::Posix { no_split_operator(text) } else { Ok(()) }
}

/// Older versions of dash and busybox do not look behind a line continuation in the middle of an operator.
fn no_split_operator(text: &str) -> Read<()> {
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

    /// Steps that one byte may cost; a reserved word is looked for a few times where a command may begin.
    const STEPS_PER_BYTE: usize = 120;

    fn steps(text: &str, dialect: Dialect) -> usize {
        read_counted(text, dialect).1
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
