//! `picoclaw mcp trust`: shows what changed in a server's tools and pins exactly that.

use super::arguments::TrustArguments;
use super::audit::recorded;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::{Context, Result};
use picoclaw_agent::mcp::pins::{Pin, PinError, Pins, describe, diff};
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
            for (_, pinned) in &found {
                let text = describe(&pinned.list()?);
                print::line(&format!(
                    "pinned for `{name}`{} (sha256 {}):\n{text}",
                    command_suffix(pinned),
                    pinned.hash
                ))?;
            }
            Ok(Exit::Done)
        }
        [] => {
            print::line(&format!(
                "`{name}` shows the tools that are pinned; there is nothing to consent to"
            ))?;
            Ok(Exit::Done)
        }
        [(id, pinned, shown)] => {
            show(&name, pinned, shown)?;
            if !arguments.show {
                consent(loaded, &pins, id, shown)?;
                print::line(&format!(
                    "trusted: {} tools of `{name}` (sha256 {})",
                    shown.tools.len(),
                    shown.hash
                ))?;
            }
            Ok(Exit::Done)
        }
        several => {
            print::note(&format!(
                "error: {} servers called `{name}` have changed; name one by its id",
                several.len()
            ));
            for (id, _, shown) in several {
                print::note(&format!("  {id}: {}", printable(&shown.command.join(" "))));
            }
            Ok(Exit::Usage)
        }
    }
}

fn show(name: &str, pinned: &Pin, shown: &Pin) -> Result<()> {
    let text = diff(&pinned.list()?, &shown.list()?);
    let command = command_suffix(shown);
    print::line(&format!("the tools of `{name}`{command} have changed since they were pinned:\n{text}"))?;
    Ok(())
}

fn command_suffix(pin: &Pin) -> String {
    match &pin.command[..] {
        [] => String::new(),
        words => format!(" ({})", printable(&words.join(" "))),
    }
}

fn consent(loaded: &Settings, pins: &Pins, id: &str, shown: &Pin) -> Result<()> {
    let intent = format!("trust the tools of {} ({id}) with hash {}", shown.name, shown.hash);
    let result = recorded(loaded, "mcp trust", &intent, || pins.consent(id, shown))?;
    result.with_context(|| format!("could not pin the tools of `{}`", shown.name))
}

fn report(why: &PinError) -> Exit {
    print::note(&format!("error: {why}"));
    if let Some(hint) = why.hint() {
        print::note(&format!("hint: {hint}"));
    }
    Exit::Refused
}
