//! Words: the source of arguments, values and file names.
//!
//! A word is a list of pieces, each with its quoting. `r''m` is the literals `r` and `m` around an
//! empty one, and [`Word::literal`] returns `rm`. Literal text is exactly what the shell would
//! produce; what it computes at run time is a piece of another kind.

use super::ast::Script;
use super::span::Span;
use std::borrow::Cow;

/// One word of the text; it may become several arguments, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// Its location.
    pub span: Span,
    /// Its pieces, in order. Empty only where the text has nothing, as in `{a,}`, `${x:-}` or `x=`;
    /// an empty quoted string is a literal piece without text.
    pub pieces: Vec<Piece>,
}

impl Word {
    /// The exact string, when nothing in the word has to be computed.
    pub fn literal(&self) -> Option<Cow<'_, str>> {
        if let [Piece { kind: PieceKind::Literal(text), .. }] = self.pieces.as_slice() {
            return Some(Cow::Borrowed(text));
        }
        let mut text = String::new();
        for piece in &self.pieces {
            let PieceKind::Literal(part) = &piece.kind else { return None };
            text.push_str(part);
        }
        Some(Cow::Owned(text))
    }

    /// The string that the word is sure to begin with.
    pub fn literal_prefix(&self) -> String {
        let literals = self.pieces.iter().map_while(|piece| match &piece.kind {
            PieceKind::Literal(part) => Some(part.as_str()),
            _ => None,
        });
        literals.collect()
    }

    /// The text, when the word is written without any quoting and without anything to compute.
    pub fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece { quoting: Quoting::Bare, kind: PieceKind::Literal(text), .. }] => Some(text),
            _ => None,
        }
    }
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its location, with its quotes.
    pub span: Span,
    /// How it is quoted. An expansion that is not [`Quoting::Bare`] is neither split into words nor
    /// globbed.
    pub quoting: Quoting,
    /// What it is.
    pub kind: PieceKind,
}

/// How a piece is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// Not at all: the result is split at `IFS` and globbed, except in assignments, `[[ ]]`, `case`
    /// and redirections.
    Bare,
    /// `\c`
    Backslash,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `$'…'`, decoded
    Ansi,
    /// `$"…"`: double quotes that may be translated. The values of `TEXTDOMAIN` and `TEXTDOMAINDIR`
    /// determine the text, and even what is expanded in it.
    Locale,
    /// The body of a here-document, an arithmetic expression or a subscript: expanded, not split,
    /// not globbed.
    Body,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceKind {
    /// Text, after quote removal and decoding.
    Literal(String),
    /// `$x`, `${…}`
    Parameter(Box<Parameter>),
    /// `$(…)`, `` `…` ``. `$(<file)` is a script of one simple command with a redirection and no
    /// word.
    Command(Script),
    /// `<(…)`, `>(…)`: the word is the name of a pipe.
    Process(Script),
    /// `$((…))`, `$[…]`
    Arithmetic(Arithmetic),
    /// `~`, `~user`, `~+`, `~-` where it is expanded: the text after the tilde.
    Tilde(String),
    /// A pattern that file names, or a `case` subject, are compared with.
    Glob(Glob),
    /// `{a,b}`: the word is expanded once for each alternative.
    Braces(Vec<Word>),
    /// `{1..9}`, `{a..e}`
    Sequence(Sequence),
    /// `(…)` behind `name=` in an argument of `declare` and its like.
    Array(Vec<Element>),
}

/// An arithmetic expression.
///
/// Names in its literal text are variables, and the *values* of variables are evaluated as
/// expressions in turn, command substitutions in their subscripts included:
/// `x='a[$(cmd)]'; echo $((x))` runs `cmd`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arithmetic {
    /// Its location, without brackets.
    pub span: Span,
    /// Its text and expansions.
    pub pieces: Vec<Piece>,
}

/// A pattern character outside of quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Glob {
    /// `*`
    Any,
    /// `?`
    One,
    /// The `[` of `[…]`. What is in the brackets, and the `]`, follows in the next pieces.
    Class,
    /// `?(…)`, `*(…)`, `+(…)`, `@(…)`, `!(…)`: the operator and the alternatives. Only bash with
    /// `extglob` accepts it; elsewhere it is a syntax error.
    Extended(char, Vec<Word>),
}

/// `{first..last..step}`, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// Numbers.
    Numbers {
        /// The first one.
        first: i64,
        /// The last one at most.
        last: i64,
        /// The increment; zero means one.
        step: i64,
        /// The least number of characters, filled with zeros; zero for none.
        width: usize,
    },
    /// Letters, both of the same case.
    Letters {
        /// The first one.
        first: char,
        /// The last one at most.
        last: char,
        /// The increment; zero means one.
        step: i64,
    },
}

/// `$x`, `${x…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name: a variable, a number, or one of `@ * # ? - $ ! _`.
    pub name: String,
    /// `[…]` behind the name.
    pub subscript: Option<Subscript>,
    /// `${!x}`: the value is the name (or the subscripted name) of the variable to expand.
    pub reference: Reference,
    /// What is done with the value.
    pub operation: Operation,
}

/// Whether the parameter itself is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reference {
    /// It is.
    Direct,
    /// `${!x}`: the variable that it names is expanded.
    Indirect,
}

/// `[…]` behind a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subscript {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    /// An arithmetic expression, or the key of an associative array. The text does not show which.
    Index(Arithmetic),
}

/// What is done with a parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: `$x`, `${x}`.
    Value,
    /// `${#x}`
    Length,
    /// `${x:-w}`, `${x-w}`
    Default(Check, Word),
    /// `${x:=w}`, `${x=w}`: also assigned.
    Assign(Check, Word),
    /// `${x:?w}`, `${x?w}`
    Error(Check, Word),
    /// `${x:+w}`, `${x+w}`
    Alternative(Check, Word),
    /// `${x#p}`, `${x##p}`, `${x%p}`, `${x%%p}`
    Remove(Side, Match, Word),
    /// `${x/p/w}`, `${x//p/w}`, `${x/#p/w}`, `${x/%p/w}`
    Replace(ReplaceAnchor, Word, Option<Word>),
    /// `${x:offset:length}`
    Slice(Arithmetic, Option<Arithmetic>),
    /// `${x^p}`, `${x^^p}`, `${x,p}`, `${x,,p}`, `${x~p}`, `${x~~p}`: the operator, and the
    /// pattern.
    Case(String, Word),
    /// `${x@Q}` and its like. `P` expands the value as a prompt: commands in it are run.
    Transform(char),
    /// `${!prefix*}`, `${!prefix@}`: the names of variables.
    Names,
    /// `${!a[@]}`, `${!a[*]}`: the keys of an array.
    Keys,
}

/// Which values count as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// No colon: unset ones.
    Unset,
    /// A colon: unset and empty ones.
    UnsetOrEmpty,
}

/// Which end of a value is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// `#`
    Prefix,
    /// `%`
    Suffix,
}

/// How much a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Match {
    /// As little as it can.
    Shortest,
    /// As much as it can.
    Longest,
}

/// Where a replacement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplaceAnchor {
    /// `/`
    First,
    /// `//`
    All,
    /// `/#`
    Prefix,
    /// `/%`
    Suffix,
}

/// `name=value` before a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its location.
    pub span: Span,
    /// The variable.
    pub name: String,
    /// `name[…]=`
    pub subscript: Option<Subscript>,
    /// `=` or `+=`.
    pub operator: AssignmentOperator,
    /// What is assigned.
    pub value: Value,
}

/// How a value is assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssignmentOperator {
    /// `=`
    Set,
    /// `+=`
    Append,
}

/// What is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word; not split, not globbed.
    Scalar(Word),
    /// `(…)`
    Array(Vec<Element>),
}

/// One element of an array literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// `[…]=` in front.
    pub subscript: Option<Subscript>,
    /// The value; without a subscript it is split and globbed like an argument.
    pub value: Word,
}
