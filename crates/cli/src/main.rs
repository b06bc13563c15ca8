//! The front door: the `picoclaw` binary.
//!
//! Invariant: results go to stdout and everything else to stderr.

mod commands;
mod settings;

use commands::config::{self, Format};
use settings::{Request, Surroundings};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| {
        arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1))
    };
    let surroundings = Surroundings::of_process();
    let path = value("--config").map(PathBuf::from);
    let request = Request { config: path.as_deref(), surroundings: &surroundings };
    let format =
        if arguments.iter().any(|argument| argument == "--json") { Format::Json } else { Format::Text };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let words: Vec<&str> = arguments.iter().map(String::as_str).take(2).collect();
    let done = match words.as_slice() {
        ["config", "check"] => config::check(&request, format, &mut out, &mut err),
        ["config", "show"] => config::show(&request, format, &mut out, &mut err),
        ["config", "schema"] => config::print_schema(&mut out),
        _ => Ok(config::BAD_CONFIGURATION),
    };
    done.map_or(ExitCode::FAILURE, ExitCode::from)
}
