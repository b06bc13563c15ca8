//! Lines in: the input, cut.
//!
//! Invariant: memory does not grow with a line that is too long to be read.

use super::frame;
use super::skim::Skim;
use rmcp::model::RequestId;
use std::io::{BufRead, BufReader, Read};

/// What was heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line.
    Line(Vec<u8>),
    /// A line that was too long, and the name of the request in it.
    TooLong(Option<RequestId>),
}

/// A client's lines.
pub(super) struct Lines(BufReader<Box<dyn Read + Send>>);

impl Lines {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self(BufReader::with_capacity(64 << 10, input))
    }

    /// The next one; `None` when there will be none.
    pub(super) fn next(&mut self) -> Option<Heard> {
        let mut line = Vec::new();
        let mut skim: Option<Skim> = None;
        loop {
            let chunk = self.0.fill_buf().ok()?;
            if chunk.is_empty() {
                // A last line without a line end is a line all the same.
                return (!line.is_empty()).then_some(Heard::Line(line));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            if skim.is_none() && line.len() + taken > frame::MOST {
                skim.insert(Skim::default()).over(&std::mem::take(&mut line));
            }
            match &mut skim {
                Some(skim) => skim.over(&chunk[..taken]),
                None => line.extend_from_slice(&chunk[..taken]),
            }
            self.0.consume(taken);
            if end.is_some() {
                return Some(match skim {
                    Some(skim) => Heard::TooLong(skim.id()),
                    None => Heard::Line(line),
                });
            }
        }
    }
}
