//! The AST of a shell text: lists, pipelines and commands, down to every substitution.
//!
//! Every command that the shell can run from the text itself is a [`Command`] somewhere in the
//! tree. Command and process substitutions are pieces of words (see [`word`](super::word)), also of
//! here-document bodies, subscripts and arithmetic, so a rule for every command must visit words as
//! well.

use super::span::Span;
use super::word::{Arithmetic, Assignment, Piece, Word};
use std::sync::{Arc, OnceLock};

/// A list of statements: the whole text, or the inside of a group, a loop or a substitution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Its location.
    pub span: Span,
    /// The statements, in order. Empty for a blank text.
    pub statements: Vec<Statement>,
}

/// `a && b || c`, ended by `;`, a newline or `&`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its location, without the terminator.
    pub span: Span,
    /// The first pipeline.
    pub first: Pipeline,
    /// The pipelines that may follow, left to right.
    pub rest: Vec<(Connector, Pipeline)>,
    /// Whether the shell waits for it.
    pub ending: Ending,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// How a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// `;`, a newline, or the end of the list: the shell waits.
    Foreground,
    /// `&`: it runs in the background.
    Background,
}

/// Commands joined by `|` or `|&`. A single command is a pipeline, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Its location.
    pub span: Span,
    /// The number of `!` before it.
    pub negations: usize,
    /// The commands, left to right. Empty after a lone `time` or `!`.
    pub commands: Vec<Command>,
}

/// One command, with the redirections that belong to all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its location, with its redirections.
    pub span: Span,
    /// What it is.
    pub kind: CommandKind,
    /// Its redirections, in order. Those of a function definition apply when the function is
    /// called.
    pub redirections: Vec<Redirection>,
}

/// The kinds of command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// Words, assignments, or redirections alone.
    Simple(Simple),
    /// `( … )`
    Subshell(Script),
    /// `{ …; }`
    Group(Script),
    /// `if … then … elif … then … else … fi`
    If(If),
    /// `while … do … done`, `until … do … done`
    Loop(Loop),
    /// `for x in …; do … done`, `select x in …; do … done`
    For(For),
    /// `for ((…; …; …)); do … done`
    ArithmeticFor(ArithmeticFor),
    /// `case … in … esac`
    Case(Case),
    /// `f() …`, `function f …`: the body runs when the function is called.
    Function(Function),
    /// `[[ … ]]`
    Test(Vec<TestItem>),
    /// `(( … ))`
    Arithmetic(Arithmetic),
    /// `coproc NAME …`: the command runs concurrently with the shell.
    Coprocess(Box<Command>),
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// The assignments before the first word: its environment, or the shell's own variables when
    /// there is no word.
    pub assignments: Vec<Assignment>,
    /// The words: the name of the command, and its arguments. May be empty.
    ///
    /// `declare`, `typeset`, `local`, `export`, `readonly`, `alias`, `eval` and `let` may have
    /// arguments of the form `name=(…)`: their word is a literal `name=` followed by one
    /// [`PieceKind::Array`](super::PieceKind).
    pub words: Vec<Word>,
}

/// `if`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct If {
    /// Each condition, and what runs under it: `if` first, then every `elif`.
    pub arms: Vec<(Script, Script)>,
    /// `else`.
    pub otherwise: Option<Script>,
}

/// `while` or `until`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Runs before every iteration.
    pub condition: Script,
    /// The body of the loop.
    pub body: Script,
}

/// `for` or `select` over words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct For {
    /// The variable that takes each value.
    pub name: String,
    /// The words behind `in`; without `in`, the positional parameters.
    pub words: Option<Vec<Word>>,
    /// The body of the loop.
    pub body: Script,
}

/// `for ((…; …; …))`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArithmeticFor {
    /// The three expressions and their `;`, as one text.
    pub header: Arithmetic,
    /// The body of the loop.
    pub body: Script,
}

/// `case`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The word that is matched.
    pub subject: Word,
    /// The arms, in order.
    pub arms: Vec<CaseArm>,
}

/// One arm of a `case`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseArm {
    /// Its patterns.
    pub patterns: Vec<Word>,
    /// Runs if one of them matches.
    pub body: Script,
}

/// A function definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, as literal text.
    pub name: String,
    /// The body.
    pub body: Box<Command>,
}

/// One item of `[[ … ]]`, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestItem {
    /// An operand. The right side of `=~` is one word whose pieces are the regular expression.
    Operand(Word),
    /// `!`, `&&`, `||`, `(`, `)`, `==`, `-f`, `<`…
    Operator(String, Span),
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// Its location, with descriptor and target.
    pub span: Span,
    /// The descriptor before the operator.
    pub descriptor: Option<Descriptor>,
    /// The operation.
    pub kind: RedirectionKind,
}

/// The descriptor before a redirection's operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descriptor {
    /// `2>`
    Number(u32),
    /// `{name}>`: the shell picks a descriptor and assigns its number to the variable (or array
    /// element).
    Variable(String),
}

/// What a redirection does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectionKind {
    /// Opens the file that the word names.
    File(FileMode, Word),
    /// `>&word`, `<&word`: a descriptor number, a number and `-`, `-` alone, or, for `>&` in bash,
    /// the name of a file for standard output and standard error.
    Duplicate(Duplicate, Word),
    /// `<<<`: the word and a newline are the input.
    HereString(Word),
    /// `<<`, `<<-`: the lines that follow are the input.
    HereDocument(HereDocument),
}

/// How a redirection opens its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`: also where `noclobber` forbids it.
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `&>`: standard output and standard error.
    WriteBoth,
    /// `&>>`: standard output and standard error.
    AppendBoth,
}

/// Which way a descriptor is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplicate {
    /// `<&`
    Input,
    /// `>&`
    Output,
}

/// A here-document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HereDocument {
    pub(super) body: Arc<OnceLock<Vec<Piece>>>,
}

impl HereDocument {
    /// The body before expansion, without leading tabs for `<<-`; one literal piece if a part of
    /// the delimiter is quoted. Every tree that [`parse`](super::parse) returns has its bodies.
    pub fn body(&self) -> &[Piece] {
        self.body.get().map_or(&[], Vec::as_slice)
    }
}
