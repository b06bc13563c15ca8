//! Lists, statements and pipelines.

use super::cursor::{ParseResult, Parser};
use crate::shell::{CommandKind, Connector, Ending, Pipeline, Script, Statement};

/// What ends a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    /// The end of the text.
    Text,
    /// `)`
    Paren,
    /// One of these reserved words.
    Reserved(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`
    Arm,
}

impl Parser<'_> {
    /// Parses statements up to `stop`, which is not consumed.
    pub(super) fn script(&mut self, stop: Stop) -> ParseResult<Script> {
        self.skip_newlines()?;
        let start = self.skip_continuations();
        let mut statements = Vec::new();
        while !self.at_stop(stop)? {
            statements.push(self.statement()?);
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.skip_newlines()?,
                Some(b';') if !self.at_arm_end() => {
                    self.bump();
                    self.skip_newlines()?;
                }
                Some(b'&') => {
                    self.bump();
                    if let Some(last) = statements.last_mut() {
                        last.ending = Ending::Background;
                    }
                    self.skip_newlines()?;
                }
                _ => {
                    if !self.at_stop(stop)? {
                        return self.unexpected("behind a command");
                    }
                }
            }
        }
        if matches!(stop, Stop::Text) {
            self.refuse_open_documents()?;
        }
        Ok(Script { span: self.span(start), statements })
    }

    /// Reads statements up to `stop`; there must be one.
    pub(super) fn body(&mut self, stop: Stop) -> ParseResult<Script> {
        let script = self.script(stop)?;
        if script.statements.is_empty() {
            return self.unexpected("where a command should be");
        }
        Ok(script)
    }

    /// Consumes blanks, comments and newlines; here-documents are parsed where their line ends.
    pub(super) fn skip_newlines(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        while self.peek() == Some(b'\n') {
            self.newline()?;
            self.skip_blanks();
        }
        Ok(())
    }

    fn at_stop(&mut self, stop: Stop) -> ParseResult<bool> {
        let next = self.peek();
        match stop {
            Stop::Text => Ok(next.is_none()),
            _ if next.is_none() => self.unexpected(match stop {
                Stop::Paren => "before the closing `)`",
                _ => "inside a compound command",
            }),
            Stop::Paren => Ok(next == Some(b')')),
            Stop::Reserved(words) => Ok(self.reserved().is_some_and(|word| words.contains(&word))),
            Stop::Arm => Ok(self.at_arm_end() || self.at_reserved("esac")),
        }
    }

    fn at_arm_end(&self) -> bool {
        self.peek() == Some(b';') && matches!(self.peek_at(1), Some(b';' | b'&'))
    }

    fn statement(&mut self) -> ParseResult<Statement> {
        let start = self.skip_continuations();
        // Bash prints what it parsed in `$(…)` and parses it again; after a here-document it omits
        // the next separator, so that `x; k` comes back as `x k`.
        if self.parens > 0 && self.documents > 0 {
            return self.refuse("a command behind a here-document inside a substitution", start);
        }
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let connector = if self.eat("&&") {
                Connector::And
            } else if self.eat("||") {
                Connector::Or
            } else {
                break;
            };
            self.skip_newlines()?;
            rest.push((connector, self.pipeline()?));
        }
        let end = rest.last().map_or(first.span.end, |(_, last)| last.span.end);
        let mut span = self.span(start);
        span.end = end;
        Ok(Statement { span, first, rest, ending: Ending::Foreground })
    }

    fn pipeline(&mut self) -> ParseResult<Pipeline> {
        let start = self.skip_continuations();
        let (negations, timed) = self.pipeline_prefix()?;
        let nothing_needed = negations > 0 || timed;
        if nothing_needed && matches!(self.peek(), None | Some(b'\n' | b';')) {
            return Ok(Pipeline { span: self.span(start), negations, commands: Vec::new() });
        }
        let first = self.command()?;
        // Bash misses the `case` in `$(time case x in a) …`, and ends the substitution at its first
        // `)`.
        if timed && self.parens > 0 && !matches!(first.kind, CommandKind::Simple(_)) {
            return self.refuse("`time` before a compound command inside a substitution", start);
        }
        let mut end = self.at;
        let mut commands = vec![first];
        loop {
            self.skip_blanks();
            if self.looking_at("||") || self.peek() != Some(b'|') {
                break;
            }
            let pipe_start = self.at;
            self.bump();
            if self.peek() == Some(b'&') {
                self.bash_only("`|&`", pipe_start)?;
                self.bump();
            }
            self.skip_newlines()?;
            commands.push(self.command()?);
            end = self.at;
        }
        Ok(Pipeline { span: self.span_between(start, end), negations, commands })
    }

    /// Consumes every `!` and `time`: the number of `!`, and whether there was a `time`.
    fn pipeline_prefix(&mut self) -> ParseResult<(usize, bool)> {
        let (mut negations, mut timed) = (0, false);
        loop {
            let start = self.skip_continuations();
            if self.at_reserved("!") {
                self.bump();
                negations += 1;
                // With `extglob` this is one pattern, without it a negated subshell.
                if self.peek() == Some(b'(') {
                    return self.refuse("`!(`: put a space between them", start);
                }
            } else if self.is_bash() && self.at_reserved("time") {
                self.eat("time");
                self.time_options();
                timed = true;
            } else {
                return Ok((negations, timed));
            }
            self.skip_blanks();
        }
    }

    fn time_options(&mut self) {
        self.skip_blanks();
        if self.looking_at("-p") && super::reserved::ends_word(self.peek_at(2)) {
            self.eat("-p");
            self.skip_blanks();
        }
        if self.looking_at("--") && super::reserved::ends_word(self.peek_at(2)) {
            self.eat("--");
        }
    }
}
