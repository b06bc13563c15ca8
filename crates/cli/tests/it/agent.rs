//! `picoclaw agent` from the outside: between programs, on a real terminal, and under a person's fingers.

mod approvals;
mod everyday;
mod one_shot;
mod screen;
mod session;
mod subagents;

use crate::test_instance::{Ran, TestInstance, ran};
use std::io::Write;
use std::process::Stdio;

/// An instance whose model reads its answers from a file, one a line; `more` goes on in the configuration.
fn scripted(replies: &str, more: &str) -> TestInstance {
    let instance = TestInstance::with_config(&format!(
        r#"{{"version": 3, "agents": {{"list": [{{"id": "main"}}, {{"id": "other"}}], "defaults": {{"model_name": "s", "max_llm_retries": 0}}}},
            "model_list": [{{"model_name": "s", "model": "scripted/s", "api_base": "file://{{dir}}/replies.jsonl"}}]{more}}}"#
    ));
    std::fs::write(instance.dir().join("replies.jsonl"), replies).unwrap();
    instance
}

/// Runs with `input` on standard input.
fn fed(instance: &TestInstance, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = instance.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that has heard enough closes its end.
    let feeding = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    ran(output)
}

/// Every line of `--json`.
fn lines(stdout: &str) -> Vec<serde_json::Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
