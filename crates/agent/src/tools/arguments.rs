//! Arguments of a call, checked against the tool's schema.

use super::schema::{self, Parameter};
use serde_json::{Map, Value};

/// Checked arguments of one call.
#[derive(Debug)]
pub struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Checks arguments; the error names the first property that does not match.
    pub fn check(parameters: &[Parameter], arguments: &'a Value) -> Result<Self, String> {
        schema::check(parameters, arguments)?;
        arguments.as_object().map(Self).ok_or_else(|| "expected an object".to_owned())
    }

    /// Takes any object; the caller checks it.
    pub fn any(arguments: &'a Value) -> Result<Self, String> {
        arguments.as_object().map(Self).ok_or_else(|| "expected an object".to_owned())
    }

    /// All arguments.
    pub fn all(&self) -> &'a Map<String, Value> {
        self.0
    }

    /// A string; empty when it was left out.
    pub fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number, if given.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(schema::count)
    }

    /// A boolean, if given.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(schema::flag)
    }
}
