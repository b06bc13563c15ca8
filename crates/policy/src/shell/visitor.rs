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
            visit_pipeline(&statement.first, visitor);
            for (_, next) in &statement.rest {
                visit_pipeline(next, visitor);
            }
        }
    }
}

fn visit_pipeline(pipeline: &Pipeline, visitor: &mut dyn Visitor) {
    for next in &pipeline.commands {
        visit_command(next, visitor);
    }
}

fn visit_command(command_: &Command, visitor: &mut dyn Visitor) {
    visitor.command(command_);
    match &command_.kind {
        CommandKind::Simple(parts) => visit_simple(parts, visitor),
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
            visit_words(parts.words.as_deref().unwrap_or_default(), visitor);
            parts.body.visit(visitor);
        }
        CommandKind::ArithmeticFor(parts) => {
            visit_arithmetic(&parts.header, visitor);
            parts.body.visit(visitor);
        }
        CommandKind::Case(parts) => {
            visit_word(&parts.subject, visitor);
            for arm in &parts.arms {
                visit_words(&arm.patterns, visitor);
                arm.body.visit(visitor);
            }
        }
        CommandKind::Function(parts) => visit_command(&parts.body, visitor),
        CommandKind::Test(items) => {
            for item in items {
                if let TestItem::Operand(operand) = item {
                    visit_word(operand, visitor);
                }
            }
        }
        CommandKind::Arithmetic(expression) => visit_arithmetic(expression, visitor),
        CommandKind::Coprocess(inner) => visit_command(inner, visitor),
    }
    for next in &command_.redirections {
        visit_redirection(next, visitor);
    }
}

fn visit_simple(simple: &Simple, visitor: &mut dyn Visitor) {
    for next in &simple.assignments {
        visit_assignment(next, visitor);
    }
    visit_words(&simple.words, visitor);
}

fn visit_assignment(assignment: &Assignment, visitor: &mut dyn Visitor) {
    if let Some(index) = &assignment.subscript {
        visit_subscript(index, visitor);
    }
    match &assignment.value {
        Value::Scalar(value) => visit_word(value, visitor),
        Value::Array(values) => visit_elements(values, visitor),
    }
}

fn visit_elements(elements: &[Element], visitor: &mut dyn Visitor) {
    for element in elements {
        if let Some(index) = &element.subscript {
            visit_subscript(index, visitor);
        }
        visit_word(&element.value, visitor);
    }
}

fn visit_redirection(redirection: &Redirection, visitor: &mut dyn Visitor) {
    match &redirection.kind {
        RedirectionKind::File(_, target)
        | RedirectionKind::Duplicate(_, target)
        | RedirectionKind::HereString(target) => visit_word(target, visitor),
        RedirectionKind::HereDocument(document) => visit_pieces(document.body(), visitor),
    }
}

fn visit_words(words: &[Word], visitor: &mut dyn Visitor) {
    for next in words {
        visit_word(next, visitor);
    }
}

fn visit_word(word: &Word, visitor: &mut dyn Visitor) {
    visitor.word(word);
    visit_pieces(&word.pieces, visitor);
}

fn visit_arithmetic(expression: &Arithmetic, visitor: &mut dyn Visitor) {
    visit_pieces(&expression.pieces, visitor);
}

fn visit_subscript(subscript: &Subscript, visitor: &mut dyn Visitor) {
    if let Subscript::Index(index) = subscript {
        visit_arithmetic(index, visitor);
    }
}

fn visit_pieces(pieces: &[Piece], visitor: &mut dyn Visitor) {
    for piece in pieces {
        visitor.piece(piece);
        match &piece.kind {
            PieceKind::Literal(_)
            | PieceKind::Tilde(_)
            | PieceKind::Sequence(_)
            | PieceKind::Glob(Glob::Any | Glob::One | Glob::Class) => {}
            PieceKind::Parameter(inner) => visit_parameter(inner, visitor),
            PieceKind::Command(script) | PieceKind::Process(script) => script.visit(visitor),
            PieceKind::Arithmetic(inner) => visit_arithmetic(inner, visitor),
            PieceKind::Glob(Glob::Extended(_, inner)) | PieceKind::Braces(inner) => {
                visit_words(inner, visitor)
            }
            PieceKind::Array(inner) => visit_elements(inner, visitor),
        }
    }
}

fn visit_parameter(parameter: &Parameter, visitor: &mut dyn Visitor) {
    if let Some(index) = &parameter.subscript {
        visit_subscript(index, visitor);
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
        | Operation::Case(_, inner) => visit_word(inner, visitor),
        Operation::Replace(_, searched, with) => {
            visit_word(searched, visitor);
            if let Some(with) = with {
                visit_word(with, visitor);
            }
        }
        Operation::Slice(offset, length) => {
            visit_arithmetic(offset, visitor);
            if let Some(length) = length {
                visit_arithmetic(length, visitor);
            }
        }
    }
}
