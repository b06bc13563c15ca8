//! Simple commands: assignments, words and redirections in any order that the shell accepts.

use super::cursor::{ParseResult, Parser};
use super::reserved::{ends_word, is_reserved};
use super::words::Context;
use crate::shell::{Command, CommandKind, Redirection, Simple, Word};

/// Commands whose arguments may be `name=(…)`.
const DECLARING: [&str; 8] = ["declare", "typeset", "local", "export", "readonly", "alias", "eval", "let"];

impl Parser<'_> {
    pub(super) fn simple_command(&mut self) -> ParseResult<Command> {
        let start = self.skip_continuations();
        let mut end = start;
        let mut simple = Simple::default();
        let mut redirections: Vec<Redirection> = Vec::new();
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
            } else if self.peek() == Some(b'(') {
                let alone =
                    simple.words.len() == 1 && simple.assignments.is_empty() && redirections.is_empty();
                let Some(name) = simple.words.pop().filter(|_| alone) else {
                    return self.unexpected("in a command");
                };
                let kind = self.function_parens(name, start)?;
                return self.with_redirections(kind, start);
            } else if ends_word(self.peek()) && !self.at_process() {
                break;
            } else {
                self.next_word(&mut simple)?;
            }
            end = self.at;
        }
        // After an assignment or a redirection a reserved word is an ordinary name. In `$(…)`,
        // however, bash prints the command with its redirections at the end and parses it again.
        if let Some(name) = simple.words.first()
            && let Some(text) = name.bare().filter(|text| is_reserved(text))
            && !(text == "time" && name.span.start == self.source.origin(start))
        {
            return self.refuse(format!("the reserved word `{text}` as the name of a command"), start);
        }
        if !self.is_bash() && !is_time_portable(&simple.words) {
            return self.refuse("`time` before something else than a plain command", start);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirections.is_empty() {
            return self.unexpected("where a command should be");
        }
        // A text of nothing but `a;` has one of these per two bytes.
        simple.words.shrink_to_fit();
        Ok(Command { span: self.span_between(start, end), kind: CommandKind::Simple(simple), redirections })
    }

    fn next_word(&mut self, simple: &mut Simple) -> ParseResult<()> {
        let Some(name) = simple.words.first() else {
            if let Some(assignment) = self.assignment()? {
                simple.assignments.push(assignment);
                return Ok(());
            }
            simple.words.push(self.word(Context::NAME)?);
            return Ok(());
        };
        let declares = self.is_bash() && name.bare().is_some_and(|name| DECLARING.contains(&name));
        let context = if declares { Context::DECLARATION } else { Context::ARGUMENT };
        simple.words.push(self.word(context)?);
        Ok(())
    }
}

/// `time` is a keyword for bash and a program for dash: the same only before the plain name of a
/// command.
fn is_time_portable(words: &[Word]) -> bool {
    let mut words = words.iter().map(Word::bare);
    if words.next() != Some(Some("time")) {
        return true;
    }
    match words.find(|word| *word != Some("-p")) {
        Some(Some(name)) => !is_reserved(name) && !name.contains(['=', '[']) && !name.starts_with('-'),
        _ => false,
    }
}
