//! `case`.

use super::cursor::{ParseResult, Parser};
use super::list::Stop;
use super::words::Context;
use crate::shell::{Case, CaseArm, CommandKind, Word};

impl Parser<'_> {
    /// Behind `case`.
    pub(super) fn case_command(&mut self) -> ParseResult<CommandKind> {
        self.skip_blanks();
        self.refuse_in_array("a `case`", self.at)?;
        let subject = self.word(Context::SUBJECT)?;
        self.skip_newlines()?;
        self.expect_reserved("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_reserved("esac") {
                break;
            }
            let arm = self.case_arm()?;
            let last = self.at_reserved("esac");
            arms.push(arm);
            if last {
                break;
            }
        }
        self.expect_reserved("esac")?;
        Ok(CommandKind::Case(Case { subject, arms }))
    }

    fn case_arm(&mut self) -> ParseResult<CaseArm> {
        let patterns = self.case_patterns()?;
        let body = self.script(Stop::Arm)?;
        let start = self.skip_continuations();
        if self.looking_at(";;&") {
            self.bash_only("`;;&`", start)?;
            self.eat(";;&");
        } else if self.looking_at(";&") {
            self.bash_only("`;&`", start)?;
            self.eat(";&");
        } else {
            self.eat(";;");
        }
        Ok(CaseArm { patterns, body })
    }

    fn case_patterns(&mut self) -> ParseResult<Vec<Word>> {
        let start = self.skip_continuations();
        if self.peek() == Some(b'(') {
            self.bump();
        }
        let mut patterns: Vec<Word> = Vec::new();
        loop {
            self.skip_blanks();
            patterns.push(self.word(Context::PATTERN)?);
            self.skip_blanks();
            match self.peek() {
                Some(b'|') => self.bump(),
                Some(b')') => {
                    self.bump();
                    // Bash prints patterns without their `(` in `$(…)`, and reads them again.
                    if patterns.first().and_then(Word::bare) == Some("esac") {
                        return self.refuse("`esac` as a pattern", start);
                    }
                    return Ok(patterns);
                }
                _ => return self.unexpected("in the patterns of `case`"),
            };
        }
    }
}
