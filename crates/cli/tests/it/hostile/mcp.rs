//! `picoclaw mcp serve`: a client with a message for each call.

use super::porch::{Asked, Porch, Told};
use crate::house::House;
use crate::mcp::wire::{Wire, text};
use serde_json::json;

#[derive(Debug)]
pub(crate) struct Mcp;

impl Porch for Mcp {
    fn origin(&self) -> &'static str {
        "mcp"
    }

    fn call(&self, house: &House, calls: &[Asked]) -> Vec<Told> {
        let mut wire = Wire::greeted(house, &[], &json!({}));
        let one = |(tool, arguments): &Asked| {
            let result = wire.call(tool, serde_json::from_str(arguments).unwrap());
            Told::new(text(&result))
        };
        calls.iter().map(one).collect()
    }
}
