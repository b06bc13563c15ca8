//! Memory does not grow with output. Alone in its file, so that no other test's memory is counted.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops where it cannot go on, and looks at the host from outside the sandbox"
)]

use picoclaw_sandbox::launch::{
    ChildSetup, Deadline, LaunchSpec, Output, OutputLimit, Principal, Status, Stdin, Streams, WorkDir,
    run_to_end,
};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_gigabyte_of_errors_stays_within_bounds() {
    let line = "head -c 1000000000 /dev/zero | tr '\\0' e >&2; echo done";
    let spec = LaunchSpec {
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), line.into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
        deadline: Deadline::After(Duration::from_secs(60)),
        output_limit: OutputLimit::default(),
        principal: Principal::Project("/".into()),
        setup: ChildSetup::unconfined(WorkDir::open(Path::new("/")).expect("the top is there")),
    };
    let finished = run_to_end(spec).expect("a shell starts");
    assert_eq!(finished.status, Status::Exited(0));
    assert_eq!(finished.stdout.to_text(), "done\n");
    assert_eq!(finished.stderr.omitted, 1_000_000_000 - (128 << 10));
    assert_eq!(finished.stderr.head.len() + finished.stderr.tail.len(), 128 << 10);
    let peak = peak_kib();
    assert!(peak < 20 << 10, "this process took {peak} KiB");
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("our own status can be read");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak is there");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}
