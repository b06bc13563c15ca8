//! `picoclaw completions` and `picoclaw man`, generated from the clap definition.

use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::print;
use anyhow::{Context, Result};
use clap::CommandFactory;
use picoclaw_sandbox::printable_path;
use std::path::Path;

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "picoclaw", &mut script);
    print::exactly(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Prints the manual page, or writes a page for every command into `dir`.
pub(crate) fn man(dir: Option<&Path>) -> Result<Exit> {
    match dir {
        Some(dir) => {
            clap_mangen::generate_to(Arguments::command(), dir)
                .with_context(|| format!("could not write manual pages into `{}`", printable_path(dir)))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
            print::exactly(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Done)
}
