//! `picoclaw mcp serve`: a client with a message for each call.

use super::porch::{Asked, Porch, Told};
use crate::mcp::wire::{Wire, text};
use crate::test_instance::TestInstance;
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Mcp;

impl Porch for Mcp {
    fn origin(&self) -> &'static str {
        "mcp"
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let mut wire = Wire::greeted(instance, &[], &json!({}));
        let one = |(tool, arguments): &Asked| {
            let result = wire.call(tool, serde_json::from_str(arguments).unwrap());
            Told::new(text(&result))
        };
        calls.iter().map(one).collect()
    }
}
