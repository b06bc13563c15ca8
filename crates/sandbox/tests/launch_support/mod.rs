//! What the launch tests share: a spec for a shell line, and a look at who is still alive.

use picoclaw_sandbox::launch::{
    ChildSetup, Deadline, LaunchSpec, Output, OutputLimit, Principal, Stdin, Streams, WorkDir, environment,
    harden_self,
};
use std::path::Path;
use std::time::Duration;

/// `sh -c line` in the temporary directory, with pipes and ten seconds.
pub(crate) fn shell(line: &str) -> LaunchSpec {
    // As the program does before anything else: orphans come to us, and no process reads our memory.
    harden_self().expect("hardening needs no privilege");
    program("/bin/sh", &["sh", "-c", line])
}

pub(crate) fn program(path: &str, argv: &[&str]) -> LaunchSpec {
    LaunchSpec {
        program: path.into(),
        argv: argv.iter().map(Into::into).collect(),
        environment: environment::without_secrets(std::env::vars_os(), &[]),
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(Duration::from_secs(10)),
        output_limit: OutputLimit::default(),
        principal: Principal::Project("/".into()),
        setup: ChildSetup::unconfined(
            WorkDir::open(Path::new("/tmp")).expect("the temporary directory is there"),
        ),
    }
}

/// How many processes have `marker` in their command line.
pub(crate) fn alive(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(marker)).count()
}

/// A number for `sleep` that no other test uses, so that its process can be found by it.
pub(crate) fn marker(seed: u32) -> String {
    format!("{}.{}", 100_000 + seed, std::process::id())
}
