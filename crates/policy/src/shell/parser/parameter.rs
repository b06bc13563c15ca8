//! `${…}` in all its forms; unknown ones are refused.

use super::cursor::{ParseResult, Parser};
use super::dollar::Frame;
use super::operand::Operand;
use super::reserved::starts_name;
use crate::shell::{Check, Match, Operation, Parameter, Reference, ReplaceAnchor, Side, Subscript};

/// The operators of `${x@…}`.
const TRANSFORMATIONS: &[u8] = b"UuLQEPAKak";

impl Parser<'_> {
    /// At the `{` of `${`: up to and over its `}`.
    pub(super) fn braced_parameter(&mut self, frame: Frame, start: usize) -> ParseResult<Parameter> {
        self.bump();
        let parameter = self.parameter(frame, start)?;
        if self.peek() != Some(b'}') {
            return self.unexpected("in `${…}`");
        }
        self.bump();
        Ok(parameter)
    }

    fn parameter(&mut self, frame: Frame, start: usize) -> ParseResult<Parameter> {
        if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            self.bump();
            let (name, subscript) = self.parameter_name(frame, start)?;
            let operation = Operation::Length;
            return Ok(Parameter { name, subscript, reference: Reference::Direct, operation });
        }
        if self.peek() == Some(b'!') && self.peek_at(1) != Some(b'}') {
            self.bash_only("`${!…}`", start)?;
            self.bump();
            return self.indirect(frame, start);
        }
        let (name, subscript) = self.parameter_name(frame, start)?;
        let operation = self.operation(frame, start)?;
        Ok(Parameter { name, subscript, reference: Reference::Direct, operation })
    }

    /// Behind `${!`.
    fn indirect(&mut self, frame: Frame, start: usize) -> ParseResult<Parameter> {
        let (name, subscript) = self.parameter_name(frame, start)?;
        if self.looking_at("*}") || self.looking_at("@}") {
            self.bump();
            let operation = Operation::Names;
            return Ok(Parameter { name, subscript, reference: Reference::Direct, operation });
        }
        let whole = matches!(subscript, Some(Subscript::All | Subscript::Joined));
        if whole && self.peek() == Some(b'}') {
            let operation = Operation::Keys;
            return Ok(Parameter { name, subscript, reference: Reference::Direct, operation });
        }
        let operation = self.operation(frame, start)?;
        Ok(Parameter { name, subscript, reference: Reference::Indirect, operation })
    }

    fn parameter_name(&mut self, frame: Frame, start: usize) -> ParseResult<(String, Option<Subscript>)> {
        let name = match self.peek() {
            Some(byte) if starts_name(byte) => self.name(),
            Some(b'0'..=b'9') => {
                let digits = self.name();
                if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return self.refuse("a name that begins with a digit", start);
                }
                digits
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.bump();
                char::from(byte).to_string()
            }
            // `${ cmd; }` and `${| cmd; }` run commands in newer versions of bash.
            _ => return self.unexpected("where `${` wants the name of a parameter"),
        };
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            subscript = Some(self.subscript(frame, start)?);
        }
        Ok((name, subscript))
    }

    fn operation(&mut self, frame: Frame, start: usize) -> ParseResult<Operation> {
        let value = Operand { frame, pattern: false, start };
        let pattern = Operand { pattern: true, ..value };
        let operation = match self.peek() {
            Some(b'}') => Operation::Value,
            Some(b':') if !matches!(self.peek_at(1), Some(b'-' | b'=' | b'?' | b'+')) => self.slice(start)?,
            Some(b':' | b'-' | b'=' | b'?' | b'+') => self.fallback(value)?,
            Some(b'#' | b'%') => self.removal(pattern)?,
            Some(b'/') => self.replacement(value, pattern)?,
            Some(b'^' | b',' | b'~') => {
                self.bash_only("a change of case in `${…}`", start)?;
                let mut operator = self.bump_char().to_owned();
                if self.peek() == operator.bytes().next() {
                    operator.push_str(self.bump_char());
                }
                Operation::Case(operator, self.operand(pattern)?)
            }
            Some(b'@') => {
                self.bash_only("a transformation in `${…}`", start)?;
                self.bump();
                match self.peek().filter(|byte| TRANSFORMATIONS.contains(byte)) {
                    Some(byte) => {
                        self.bump();
                        Operation::Transform(char::from(byte))
                    }
                    None => return self.unexpected("where `${…@` wants a transformation"),
                }
            }
            _ => return self.unexpected("in `${…}`"),
        };
        Ok(operation)
    }

    fn slice(&mut self, start: usize) -> ParseResult<Operation> {
        self.bash_only("a slice in `${…}`", start)?;
        self.bump();
        let offset = self.slice_part(start)?;
        let mut length = None;
        if self.peek() == Some(b':') {
            self.bump();
            length = Some(self.slice_part(start)?);
        }
        Ok(Operation::Slice(offset, length))
    }

    fn fallback(&mut self, operand: Operand) -> ParseResult<Operation> {
        let check = if self.eat(":") { Check::UnsetOrEmpty } else { Check::Unset };
        let operator = self.bump();
        let word = self.operand(operand)?;
        Ok(match operator {
            Some(b'-') => Operation::Default(check, word),
            Some(b'=') => Operation::Assign(check, word),
            Some(b'?') => Operation::Error(check, word),
            _ => Operation::Alternative(check, word),
        })
    }

    fn removal(&mut self, operand: Operand) -> ParseResult<Operation> {
        let operator = self.bump();
        let side = if operator == Some(b'#') { Side::Prefix } else { Side::Suffix };
        let mut extent = Match::Shortest;
        if self.peek() == operator {
            self.bump();
            extent = Match::Longest;
        }
        Ok(Operation::Remove(side, extent, self.operand(operand)?))
    }

    fn replacement(&mut self, value: Operand, pattern: Operand) -> ParseResult<Operation> {
        self.bash_only("a replacement in `${…}`", value.start)?;
        self.bump();
        let place = match self.peek() {
            Some(b'/') => ReplaceAnchor::All,
            Some(b'#') => ReplaceAnchor::Prefix,
            Some(b'%') => ReplaceAnchor::Suffix,
            _ => ReplaceAnchor::First,
        };
        if place != ReplaceAnchor::First {
            self.bump();
        }
        let searched = self.operand_until_slash(pattern)?;
        let mut with = None;
        if self.peek() == Some(b'/') {
            self.bump();
            // Quotes in the replacement are removed like those of the pattern, also inside double
            // quotes.
            with = Some(self.operand(Operand { pattern: true, ..value })?);
        }
        Ok(Operation::Replace(place, searched, with))
    }
}
