//! Visits a whole AST: every command, word and piece, in the order of the text.

use super::{
    Arithmetic, Assignment, Command, CommandKind, Element, Glob, Operation, Parameter, Piece, PieceKind,
    Pipeline, Redirection, RedirectionKind, Script, Simple, Subscript, TestItem, Value, Word,
};

/// Callbacks for the parts of an AST, outer before inner.
pub trait Visitor {
    /// A command of any kind, function bodies included.
    fn command(&mut self, _command: &Command) {}
    /// A word.
    fn word(&mut self, _word: &Word) {}
    /// A piece of a word, of a here-document, a subscript or an arithmetic expression.
    fn piece(&mut self, _piece: &Piece) {}
}

impl Script {
    /// Calls `visitor` for every part of this script.
    pub fn visit(&self, visitor: &mut dyn Visitor) {
        for statement in &self.statements {
            pipeline(&statement.first, visitor);
            for (_, next) in &statement.rest {
                pipeline(next, visitor);
            }
        }
    }
}

fn pipeline(pipeline: &Pipeline, visitor: &mut dyn Visitor) {
    for next in pipeline.commands() {
        command(next, visitor);
    }
}

fn command(command_: &Command, visitor: &mut dyn Visitor) {
    visitor.command(command_);
    match &command_.kind {
        CommandKind::Simple(parts) => simple(parts, visitor),
        CommandKind::Subshell(script) | CommandKind::Group(script) => script.visit(visitor),
        CommandKind::If(parts) => {
            for (condition, body) in &parts.arms {
                condition.visit(visitor);
                body.visit(visitor);
            }
            if let Some(otherwise) = &parts.otherwise {
                otherwise.visit(visitor);
            }
        }
        CommandKind::Loop(parts) => {
            parts.condition.visit(visitor);
            parts.body.visit(visitor);
        }
        CommandKind::For(parts) => {
            words(parts.words.as_deref().unwrap_or_default(), visitor);
            parts.body.visit(visitor);
        }
        CommandKind::ArithmeticFor(parts) => {
            arithmetic(&parts.header, visitor);
            parts.body.visit(visitor);
        }
        CommandKind::Case(parts) => {
            word(&parts.subject, visitor);
            for arm in &parts.arms {
                words(&arm.patterns, visitor);
                arm.body.visit(visitor);
            }
        }
        CommandKind::Function(parts) => command(&parts.body, visitor),
        CommandKind::Test(items) => {
            for item in items {
                if let TestItem::Operand(operand) = item {
                    word(operand, visitor);
                }
            }
        }
        CommandKind::Arithmetic(expression) => arithmetic(expression, visitor),
        CommandKind::Coprocess(parts) => command(&parts.command, visitor),
    }
    for next in &command_.redirections {
        redirection(next, visitor);
    }
}

fn simple(simple: &Simple, visitor: &mut dyn Visitor) {
    for next in &simple.assignments {
        assignment(next, visitor);
    }
    words(&simple.words, visitor);
}

fn assignment(assignment: &Assignment, visitor: &mut dyn Visitor) {
    if let Some(index) = &assignment.subscript {
        subscript(index, visitor);
    }
    match &assignment.value {
        Value::Scalar(value) => word(value, visitor),
        Value::Array(values) => elements(values, visitor),
    }
}

fn elements(elements: &[Element], visitor: &mut dyn Visitor) {
    for element in elements {
        if let Some(index) = &element.subscript {
            subscript(index, visitor);
        }
        word(&element.value, visitor);
    }
}

fn redirection(redirection: &Redirection, visitor: &mut dyn Visitor) {
    match &redirection.kind {
        RedirectionKind::File(_, target)
        | RedirectionKind::Duplicate(_, target)
        | RedirectionKind::HereString(target) => word(target, visitor),
        RedirectionKind::HereDocument(document) => pieces(document.body(), visitor),
    }
}

fn words(words: &[Word], visitor: &mut dyn Visitor) {
    for next in words {
        word(next, visitor);
    }
}

fn word(word: &Word, visitor: &mut dyn Visitor) {
    visitor.word(word);
    pieces(&word.pieces, visitor);
}

fn arithmetic(expression: &Arithmetic, visitor: &mut dyn Visitor) {
    pieces(&expression.pieces, visitor);
}

fn subscript(subscript: &Subscript, visitor: &mut dyn Visitor) {
    if let Subscript::Index(index) = subscript {
        arithmetic(index, visitor);
    }
}

fn pieces(pieces: &[Piece], visitor: &mut dyn Visitor) {
    for piece in pieces {
        visitor.piece(piece);
        match &piece.kind {
            PieceKind::Literal(_)
            | PieceKind::Tilde(_)
            | PieceKind::Sequence(_)
            | PieceKind::Glob(Glob::Any | Glob::One | Glob::Class) => {}
            PieceKind::Parameter(inner) => parameter(inner, visitor),
            PieceKind::Command(inner) => inner.script.visit(visitor),
            PieceKind::Process(inner) => inner.script.visit(visitor),
            PieceKind::Arithmetic(inner) => arithmetic(inner, visitor),
            PieceKind::Glob(Glob::Extended(_, inner)) | PieceKind::Braces(inner) => words(inner, visitor),
            PieceKind::Array(inner) => elements(inner, visitor),
        }
    }
}

fn parameter(parameter: &Parameter, visitor: &mut dyn Visitor) {
    if let Some(index) = &parameter.subscript {
        subscript(index, visitor);
    }
    match &parameter.operation {
        Operation::Value
        | Operation::Length
        | Operation::Transform(_)
        | Operation::Names
        | Operation::Keys => {}
        Operation::Default(_, inner)
        | Operation::Assign(_, inner)
        | Operation::Error(_, inner)
        | Operation::Alternative(_, inner)
        | Operation::Remove(_, _, inner)
        | Operation::Case(_, inner) => word(inner, visitor),
        Operation::Replace(_, searched, with) => {
            word(searched, visitor);
            if let Some(with) = with {
                word(with, visitor);
            }
        }
        Operation::Slice(offset, length) => {
            arithmetic(offset, visitor);
            if let Some(length) = length {
                arithmetic(length, visitor);
            }
        }
    }
}
