//! `picoclaw tool`: one call a process.

use super::entry_point::{Asked, EntryPoint, Told};
use crate::test_instance::TestInstance;

#[derive(Debug)]
pub(crate) struct Tool;

impl EntryPoint for Tool {
    fn origin(&self) -> &'static str {
        "tool"
    }

    fn call(&self, instance: &TestInstance, calls: &[Asked]) -> Vec<Told> {
        let one = |(tool, arguments): &Asked| {
            let ran = instance.run(&["tool", tool, arguments]);
            // A tool that is not there is a mistake on the command line; it is told where mistakes are.
            Told::new(if ran.code == 2 { ran.stderr.split("error: ").last().unwrap() } else { &ran.stdout })
        };
        calls.iter().map(one).collect()
    }
}
