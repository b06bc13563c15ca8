//! What `make bench` runs: picoclaw against its peers, in one run, with the noise shown. The guard
//! has no peer: its sections measure what `docs/measurements.md` publishes.
//!
//! A peer is what a program without any of our promises would do: a plain `open`, `cat`, `/bin/true`. picoclaw and peer
//! take turns, so that whatever else this machine does meets both; a figure is a median with the tenth and the ninetieth
//! percentile beside it.
//!
//! Invariant: nothing is written outside the directories that were given, and nothing is left running.

mod agent;
mod asking;
mod cage;
mod crowd;
mod files;
mod gateway;
mod guard;
mod instance;
mod lengths;
mod mcp;
mod mcp_calls;
mod measure;
mod peers;
mod process;
mod table;
mod traced;
mod turns;
mod work;
mod writes;

use instance::BenchInstance;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use table::Table;

/// What stops a run: never slowness, only something that does not work.
pub(crate) type Stop = Box<dyn Error>;

/// A part of the measurements.
type Section<'s> = &'s dyn Fn(&mut Table) -> Result<(), Stop>;

fn main() -> Result<(), Stop> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    let rest: Vec<OsString> = arguments.collect();
    match first.to_str() {
        // The program runs itself for what needs a process of its own.
        Some(traced::SELF) => traced::one_write(&rest),
        Some(guard::SELF) => guard::load_once(),
        Some(mcp_calls::SELF) => mcp_calls::serve(),
        Some(asking::SELF) => asking::agree(),
        Some(mcp::SELF) => mcp::answer_with(&rest),
        _ => run(Path::new(&first), &rest),
    }
}

fn run(picoclaw: &Path, arguments: &[OsString]) -> Result<(), Stop> {
    let [disk, memory, wanted @ ..] = arguments else {
        return Err("usage: compare PICOCLAW DISK_DIRECTORY MEMORY_DIRECTORY [SECTION…]".into());
    };
    let (disk, quiet) = (PathBuf::from(disk), PathBuf::from(memory));
    say(&surroundings(&quiet, &disk));

    let mut table = Table::default();
    let instance = BenchInstance::create(&quiet.join("instance"))?;
    let lived_in = BenchInstance::create(&disk.join("instance"))?;
    let sections: [(&str, Section<'_>); 18] = [
        ("open", &|table| files::opening(&instance, table)),
        ("read", &|table| files::reading(&instance, &lived_in, table)),
        ("write", &|table| writes::timed(&instance, &lived_in, table)),
        ("calls", &|table| traced::counted(&quiet, table)),
        ("decide", &|table| files::deciding(&instance, table)),
        ("process", &|table| process::measured(picoclaw, &instance, &lived_in, table)),
        ("agent", &|table| agent::measured(picoclaw, &instance, table)),
        ("cage", &|table| cage::costs(picoclaw, &instance, table)),
        ("fence", &|table| cage::fences(&quiet, table)),
        ("work", &|table| work::measured(picoclaw, &lived_in, &disk, table)),
        ("gateway", &|table| {
            gateway::measured(picoclaw, &BenchInstance::create(&quiet.join("gateway"))?, table)
        }),
        ("mcp", &|table| mcp::measured(picoclaw, &instance, table)),
        ("loop", &|table| turns::measured(&quiet, &disk, table)),
        ("requests", &|table| {
            mcp_calls::measured(&quiet, &disk, table)?;
            asking::measured(&quiet, &disk, table)
        }),
        ("judge", &|table| guard::typical(&instance, table)),
        ("load", &|table| guard::loading(table)),
        ("worst", &|table| guard::worst(&instance, table)),
        ("lengths", &|_| lengths::growing(&instance)),
    ];
    for (name, section) in sections {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            section(&mut table)?;
        }
    }
    say(&table.to_string());
    Ok(())
}

fn surroundings(quiet: &Path, disk: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = rustix::system::uname();
    format!(
        "{cores} cores, Linux {}, load {}; instance on {}, and once more on {}\n",
        kernel.release().to_string_lossy(),
        instance::load(),
        instance::file_system(quiet),
        instance::file_system(disk)
    )
}

/// To standard output; a closed pipe is no error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
