//! `picoclaw mcp trust`: shows what changed in a server's tools, instructions, prompts and resource
//! templates, and pins exactly that.

use super::arguments::TrustArguments;
use super::audit::recorded;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::{Context, Result};
use picoclaw_agent::mcp::pins::{Pin, PinError, Pins, describe, diff, section_noun, server_id};
use picoclaw_sandbox::printable;

/// Prints the difference; without `--show`, consents to it.
pub(crate) fn run(arguments: &TrustArguments, loaded: &Settings) -> Result<Exit> {
    let instance = app::open_instance(loaded)?;
    let pins = Pins::open(instance.home())?;
    let name = printable(&arguments.name).into_owned();
    let found = match pins.find(&arguments.name) {
        Ok(found) => found,
        Err(why) => return Ok(report(&why)),
    };
    if found.is_empty() {
        let known = pins.names()?;
        print::note(&format!("error: no server called `{name}` is pinned"));
        print::note(&format!(
            "hint: {}",
            if known.is_empty() {
                "none is pinned yet".to_owned()
            } else {
                format!("pinned are {}", printable(&known.join(", ")))
            }
        ));
        return Ok(Exit::Refused);
    }
    let mut pending = Vec::new();
    for (id, pinned) in &found {
        match pins.load_pending(id) {
            Ok(shown) => pending.extend(shown.map(|shown| (id, pinned, shown))),
            Err(why) => return Ok(report(&why)),
        }
    }
    match &pending[..] {
        [] if arguments.show => {
            for (id, pinned) in &found {
                let text = describe(&pinned.list()?);
                let part = if section_noun(id) == "tools" { "" } else { section_noun(id) };
                let part = if part.is_empty() { String::new() } else { format!(", {part}") };
                print::line(&format!(
                    "pinned for `{name}`{part}{} (sha256 {}):\n{text}",
                    command_suffix(pinned),
                    pinned.hash
                ))?;
            }
            Ok(Exit::Done)
        }
        [] => {
            print::line(&format!("`{name}` shows what is pinned; there is nothing to consent to"))?;
            Ok(Exit::Done)
        }
        changed @ [(first, ..), ..] if changed.iter().all(|(id, ..)| server_id(id) == server_id(first)) => {
            for (id, pinned, shown) in changed {
                let noun = section_noun(id);
                show(&name, noun, pinned, shown)?;
                if !arguments.show {
                    consent(loaded, &pins, id, shown)?;
                    let (count, hash) = (shown.tools.len(), &shown.hash);
                    print::line(&match noun {
                        "instructions" => format!("trusted: the instructions of `{name}` (sha256 {hash})"),
                        noun => format!("trusted: {count} {noun} of `{name}` (sha256 {hash})"),
                    })?;
                }
            }
            Ok(Exit::Done)
        }
        several => {
            let mut ids: Vec<&str> = several.iter().map(|(id, ..)| server_id(id)).collect();
            ids.dedup();
            print::note(&format!(
                "error: {} servers called `{name}` have changed; name one by its id",
                ids.len()
            ));
            for id in ids {
                let command = several.iter().find(|(known, ..)| server_id(known) == id);
                let command = command.map(|(_, _, shown)| shown.command.join(" ")).unwrap_or_default();
                print::note(&format!("  {id}: {}", printable(&command)));
            }
            Ok(Exit::Usage)
        }
    }
}

fn show(name: &str, noun: &str, pinned: &Pin, shown: &Pin) -> Result<()> {
    let text = diff(&pinned.list()?, &shown.list()?);
    let command = command_suffix(shown);
    print::line(&format!("the {noun} of `{name}`{command} have changed since they were pinned:\n{text}"))?;
    Ok(())
}

fn command_suffix(pin: &Pin) -> String {
    match &pin.command[..] {
        [] => String::new(),
        words => format!(" ({})", printable(&words.join(" "))),
    }
}

fn consent(loaded: &Settings, pins: &Pins, id: &str, shown: &Pin) -> Result<()> {
    let intent = format!("trust the {} of {} ({id}) with hash {}", section_noun(id), shown.name, shown.hash);
    let result = recorded(loaded, "mcp trust", &intent, || pins.consent(id, shown))?;
    result.with_context(|| format!("could not pin what `{}` shows", shown.name))
}

fn report(why: &PinError) -> Exit {
    print::note(&format!("error: {why}"));
    if let Some(hint) = why.hint() {
        print::note(&format!("hint: {hint}"));
    }
    Exit::Refused
}
