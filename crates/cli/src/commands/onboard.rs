//! `picoclaw onboard`: creates an instance and, at a terminal or with `--model`, sets up a model:
//! it is tested, written down, and takes a first turn. Existing files are kept, but for a model
//! that is added.

mod choice;

use crate::arguments::{AgentArguments, OnboardArguments};
use crate::commands::agent::{self, Frontend};
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::settings::{ProcessEnv, Request, Settings, add_model, load};
use crate::{app, print};
use anyhow::{Context, Result};
use choice::Choice;
use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::providers::{self, Models, ProviderError, Sink};
use picoclaw_policy::config::{Config, ModelConfig};
use picoclaw_sandbox::instance::Created;
use picoclaw_sandbox::printable_lines;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

/// What the test asks of a model.
const TEST_MESSAGE: &str = "Answer with the word ready.";

/// The longest answer to it, in tokens; models that think need some.
const TEST_TOKENS: u64 = 1024;

/// The message of the first turn.
const FIRST_MESSAGE: &str =
    "Say hello in one sentence, then say in one more what you can do on this machine.";

/// The arguments of the first turn.
pub(crate) fn first_turn() -> AgentArguments {
    AgentArguments {
        message: Some(FIRST_MESSAGE.to_owned()),
        session: Some("cli:onboard".to_owned()),
        agent: None,
        model: None,
        workspace: None,
        json: false,
        debug: false,
    }
}

/// Creates the instance, prints what exists now, and sets up a model.
pub(crate) fn run(
    arguments: &OnboardArguments,
    frontend: &Frontend,
    settings: &Settings,
    process_env: &ProcessEnv,
) -> Result<ExitCode> {
    let instance = app::prepare_instance(settings)?;
    let config = match app::write_default_config(&instance, settings)? {
        Created::New => "written",
        Created::Existing => "kept as it is",
    };
    print::line(&format!("instance: {}", instance.home().display()))?;
    print::line(&format!("configuration: {} ({config})", settings.config_path.display()))?;
    for workspace in instance.workspaces() {
        print::line(&format!("workspace of {}: {}", workspace.agent, workspace.named))?;
    }
    let is_asked = io::stdin().is_terminal() && io::stdout().is_terminal() && !arguments.no_model;
    if arguments.model.is_none() && !is_asked {
        print::line(
            "picoclaw is ready. Next: picoclaw tool list_dir '{}', picoclaw status, picoclaw config show",
        )?;
        return Ok(Exit::Done.into());
    }
    let loaded = load(&Request { config: Some(&settings.config_path), env: process_env })?;
    let has_model = !loaded.config.models.is_empty() && loaded.env_models.is_empty();
    let settings = match &arguments.model {
        Some(_) => {
            let model = match choice::of_arguments(arguments, process_env) {
                Ok(model) => model,
                Err(why) => return Ok(exit::bad_usage(&why).into()),
            };
            if !arguments.no_test && !is_usable(&loaded.config, &model)? {
                return Ok(Exit::Refused.into());
            }
            add_model(&loaded, process_env, &instance, &model)?
        }
        None if has_model => loaded,
        None => match ask(&loaded.config, process_env)? {
            Some(model) => {
                let settings = add_model(&loaded, process_env, &instance, &model)?;
                print::line(&format!("written: {}", settings.config_path.display()))?;
                if !model.api_keys.is_empty() {
                    print::line(&format!("written: {} (mode 0600)", settings.secrets_path.display()))?;
                }
                settings
            }
            None => {
                print::line("no model for now: `picoclaw agent` runs lines as commands")?;
                return Ok(Exit::Done.into());
            }
        },
    };
    if !arguments.no_test {
        print::line(&format!("\nthe first turn: {FIRST_MESSAGE}"))?;
        let done = agent::run(&first_turn(), frontend, &settings, process_env)?;
        if done != ExitCode::SUCCESS {
            return Ok(done);
        }
    }
    print::line("\npicoclaw is ready. Next: `picoclaw agent`, in a project to work there")?;
    Ok(Exit::Done.into())
}

/// Lets a person choose until a model answers; `None` is no model.
fn ask(config: &Config, process_env: &ProcessEnv) -> Result<Option<ModelConfig>> {
    print::line("\nlooking for keys in the environment and for model servers on this machine")?;
    let progress = Progress::of("looking");
    let servers = app::runtime()?.block_on(providers::local_servers());
    drop(progress);
    let offers = choice::offers(process_env, servers)?;
    loop {
        let model = match choice::ask(&offers)? {
            Choice::Model(model) => *model,
            Choice::Nothing => return Ok(None),
        };
        if is_usable(config, &model)? {
            return Ok(Some(model));
        }
    }
}

/// Sends one small request, and says how it went.
fn is_usable(config: &Config, model: &ModelConfig) -> Result<bool> {
    print::line(&format!("testing {} …", model.name))?;
    let mut alone = config.clone();
    alone.models = vec![model.clone()];
    alone.turns.model = None;
    alone.turns.model_fallbacks.clear();
    alone.agents.iter_mut().for_each(|agent| agent.model = None);
    alone.secrets.extend(model.api_keys.iter().map(|key| key.reveal().to_owned()));
    let began = Instant::now();
    let progress = Progress::of("waiting for an answer");
    let answered = app::runtime()?.block_on(answer(&alone));
    drop(progress);
    match answered {
        Ok(()) => {
            print::line(&format!("{} answers, in {:.1} s", model.name, began.elapsed().as_secs_f64()))?;
            Ok(true)
        }
        Err(why) => {
            print::note(&format!("error: {}", printable_lines(&why)));
            Ok(false)
        }
    }
}

async fn answer(config: &Config) -> Result<(), String> {
    let agent = config.default_agent.clone();
    let chain =
        Models::new(config).chain(&agent, None).map_err(|why| format!("{why}\nhint: {}", why.hint()))?;
    let request = providers::Request {
        messages: vec![Message::text(Role::User, TEST_MESSAGE)],
        tools: Vec::new(),
        max_tokens: TEST_TOKENS,
        temperature: None,
        agent,
    };
    let asked = chain.ask(&request, &mut Unheard, &|_| {}).await;
    asked.map(drop).map_err(|why: ProviderError| why.explain())
}

/// Drops the text of the answer.
struct Unheard;

impl Sink for Unheard {
    fn text(&mut self, _piece: &str) {}
}

/// A line from the person at the terminal; `None` at the end of input.
fn read_line(prompt: &str) -> Result<Option<String>> {
    use std::io::{BufRead, Write};
    // Not locked: a signal that ends the program writes there too.
    let mut out = std::io::stdout();
    write!(out, "{prompt}").and_then(|()| out.flush()).context("could not write to the terminal")?;
    let mut line = String::new();
    let count = std::io::stdin().lock().read_line(&mut line).context("could not read from the terminal")?;
    Ok((count > 0).then(|| line.trim().to_owned()))
}
