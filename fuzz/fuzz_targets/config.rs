//! Any text as a configuration, and any value as a variable: no panic, and every fault has its place.
//!
//! The first line is `NAME=value`, a variable; the rest is the file.
//!
//! Invariant: what loads can be shown, and what does not says where and why.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picoclaw_policy::config::{FenceMode, Layers, NoSecretSource, SourceLocation, Sources, advice, reminders, merge_layers, warnings};
use std::path::Path;

fuzz_target!(|input: &str| {
    let (first, text) = input.split_once('\n').unwrap_or(("", input));
    let (name, value) = first.split_once('=').unwrap_or(("", ""));
    let variables = [(format!("PICOCLAW_{name}"), value.to_owned())];
    let sources = Sources { file: "config.json", text: Some(text), secrets: ".security.yml" };
    let layers = Layers { sources, secrets: None, variables: &variables, user_home: Some(Path::new("/home/user")) };
    match merge_layers(&layers, &NoSecretSource) {
        Ok(settled) => {
            let shown = format!("{:?}", settled.show(&sources, Path::new("/home/user/.picoclaw")));
            for model in &settled.config.models {
                for key in model.api_keys.iter().map(|key| key.reveal()).filter(|key| key.len() > 12) {
                    assert!(!shown.contains(key), "a key is shown");
                }
            }
            assert!(settled.config.agents.iter().any(|agent| agent.id == settled.config.default_agent));
            _ = (warnings(&settled.config), reminders(&settled.config, FenceMode::Full), advice(&settled.config));
        }
        Err(error) => {
            assert!(!error.faults.is_empty());
            let lines = text.split('\n').count();
            for fault in &error.faults {
                if let SourceLocation::File { line, column, .. } = fault.location {
                    assert!((1..=lines).contains(&line) && column >= 1, "{fault}");
                }
            }
            assert!(error.to_string().chars().all(|c| c == '\n' || !c.is_control()), "{error:?}");
        }
    }
});
