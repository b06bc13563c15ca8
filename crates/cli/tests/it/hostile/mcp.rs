//! `picoclaw mcp serve`: a client with a message for each call.

use super::entry_point::{Asked, EntryPoint, Told};
use crate::mcp::http::Listening;
use crate::mcp::wire::{Wire, text};
use crate::test_instance::TestInstance;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Mcp;

/// `picoclaw mcp serve --http`: a request for each call.
#[derive(Debug)]
pub(crate) struct McpHttp;

impl EntryPoint for McpHttp {
    fn origin(&self) -> &'static str {
        "mcp"
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let server = Listening::new(instance, &[]);
        let one = |(tool, arguments): &Asked| {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            Told::new(text(&server.call(tool, &arguments)))
        };
        calls.iter().map(one).collect()
    }
}

impl EntryPoint for Mcp {
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
