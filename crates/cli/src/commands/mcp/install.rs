//! `picoclaw mcp install`: prints the configuration for another program. It never edits that
//! program's files, where a faulty merge would break it.

use super::arguments::InstallArguments;
use super::host_instructions::{ServeCommand, instructions};
use crate::exit::{self, Exit};
use crate::print;
use crate::settings::{ProcessEnv, Settings};
use anyhow::{Context, Result, ensure};
use picoclaw_sandbox::printable_path;
use std::path::Path;

/// Prints the configuration for one host.
pub(crate) fn run(arguments: &InstallArguments, loaded: &Settings, process_env: &ProcessEnv) -> Result<Exit> {
    let command = match serve_command(arguments, loaded, process_env) {
        Ok(command) => command,
        Err(why) => return Ok(exit::bad_usage(&why)),
    };
    let instructions = instructions(arguments.host, &command);
    print::exactly(&instructions.snippet)?;
    print::note(&format!(
        "This goes into {}. picoclaw writes no other program's files.",
        instructions.location
    ));
    if arguments.workspace.is_none() {
        print::note(&format!(
            "The tools work in `{}`; `--workspace DIR` names another directory, such as a project.",
            loaded.config.workspace_of(&loaded.config.default_agent, &loaded.home).display()
        ));
    }
    print::note(&format!("\nTo switch the host's own shell and file tools off, {}", instructions.own_tools));
    Ok(Exit::Done)
}

fn serve_command(
    arguments: &InstallArguments,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<ServeCommand> {
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("`{}` cannot be written into a configuration", printable_path(path)))
    };
    // An absolute path, since desktop programs often have another PATH than a shell.
    let command = text(&std::env::current_exe().context("this program has no path")?)?;
    let mut words = vec!["mcp".to_owned(), "serve".to_owned()];
    if let Some(workspace) = &arguments.workspace {
        let full = std::path::absolute(workspace).context("`--workspace` wants a path")?;
        let real =
            full.canonicalize().with_context(|| format!("`{}` is not there", printable_path(&full)))?;
        ensure!(real.is_dir(), "`{}` is not a directory", printable_path(&full));
        words.extend(["--workspace".to_owned(), text(&real)?]);
    }
    let mut variables = Vec::new();
    if process_env.variable("PICOCLAW_HOME").is_some() {
        variables.push(("PICOCLAW_HOME".to_owned(), text(&std::path::absolute(&loaded.home)?)?));
    }
    let own = loaded.home.join("config.json");
    if loaded.config_path != own {
        variables.push(("PICOCLAW_CONFIG".to_owned(), text(&std::path::absolute(&loaded.config_path)?)?));
    }
    Ok(ServeCommand { command, arguments: words, variables })
}
