//! Children on Windows: what runs, what ends them, what they inherit, and what their token lacks.
//!
//! Under Wine these show that the calls are made and read back; what Wine does not enforce is reported as skipped.

#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene up has failed")]

use picoclaw_sys::windows::{
    ChildSpec, Job, JobLimits, RestrictedToken, SpawnError, Spawned, label_low, spawn,
};
use picoclaw_testing::skip;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::windows::io::{AsHandle as _, AsRawHandle as _};
use std::path::PathBuf;
use std::time::Duration;

/// Long enough for every child that ends by itself.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// The variable that makes this program play the child.
const PART: &str = "PICOCLAW_TEST_PART";

/// What the child of a test does. It is this program, with one test selected.
#[test]
fn the_part_of_the_child() {
    let Ok(part) = std::env::var(PART) else { return };
    match part.split_once(' ').unwrap_or((part.as_str(), "")) {
        ("exit", code) => std::process::exit(code.parse().unwrap()),
        ("environment", _) => {
            let mut names: Vec<_> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
            names.sort();
            println!("<{}>", names.join("|"));
        }
        ("compute", _) => {
            let until = std::time::Instant::now() + Duration::from_secs(10);
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
            println!("<finished>");
        }
        ("wait", _) => std::thread::sleep(Duration::from_secs(600)),
        // A child of its own, which would outlive it.
        ("tree", _) => {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "the_part_of_the_child"]).env(PART, "wait").spawn().unwrap();
            println!("<started>");
            std::thread::sleep(Duration::from_secs(600));
        }
        // Whether a handle of the parent's is open here, by its number.
        ("handle", number) => {
            let handle = number.parse::<usize>().unwrap() as *mut std::ffi::c_void;
            // SAFETY: asking for the type of a number that is no handle is an error, not more.
            let kind = unsafe { windows_sys::Win32::Storage::FileSystem::GetFileType(handle) };
            println!("<{kind}>");
        }
        (other, _) => panic!("no part {other}"),
    }
}

fn start(
    part: &str,
    limits: JobLimits,
    token: Option<&RestrictedToken>,
) -> (Result<Spawned, SpawnError>, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let null = File::open("NUL").unwrap();
    let system = std::env::var_os("SystemRoot").unwrap();
    let environment: Vec<(OsString, OsString)> = vec![
        (PART.into(), part.into()),
        ("SystemRoot".into(), system),
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
    ];
    let spec = ChildSpec {
        program: std::env::current_exe().unwrap(),
        args: ["--exact", "the_part_of_the_child", "--nocapture"].map(OsString::from).to_vec(),
        cwd: PathBuf::from(r"C:\"),
        environment,
        streams: [null.as_handle(), writer.as_handle(), null.as_handle()],
        limits,
        token,
    };
    (spawn(&spec), reader)
}

/// What the child printed between `<` and `>`.
fn said(mut reader: std::io::PipeReader) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text.split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
        .map(|(said, _)| said.to_owned())
        .unwrap_or(text)
}

#[test]
fn a_child_runs_and_its_exit_code_is_its_own() {
    let (child, _reader) = start("exit 42", JobLimits::default(), None);
    assert_eq!(child.unwrap().wait(PATIENCE).unwrap(), Some(42));
}

#[test]
fn a_child_has_the_environment_that_it_was_given() {
    let (child, reader) = start("environment", JobLimits::default(), None);
    let child = child.unwrap();
    assert_eq!(child.wait(PATIENCE).unwrap(), Some(0));
    let said = said(reader);
    assert!(said.contains("PICOCLAW_TEST_PART=environment"), "{said}");
    assert!(!said.contains("USERPROFILE=") && !said.contains("CARGO"), "{said}");
}

#[test]
fn a_wait_ends_with_its_time() {
    let (child, _reader) = start("wait", JobLimits::default(), None);
    let child = child.unwrap();
    assert_eq!(child.wait(Some(Duration::from_millis(50))).unwrap(), None);
    // The host of its console may be in the job as well.
    assert!(child.job().active_processes().unwrap() >= 1);
    child.job().terminate(7).unwrap();
    assert_eq!(child.wait(PATIENCE).unwrap(), Some(7));
}

#[test]
fn the_whole_tree_ends_with_its_job() {
    for (why, ends_by_drop) in [("terminated", false), ("dropped", true)] {
        let (child, mut reader) = start("tree", JobLimits::default(), None);
        let child = child.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"<started>") {
            let mut byte = [0];
            assert_eq!(reader.read(&mut byte).unwrap(), 1, "{why}: {}", String::from_utf8_lossy(&seen));
            seen.extend(byte);
        }
        assert!(child.job().active_processes().unwrap() >= 2, "{why}: the child's child is in the job");
        if !ends_by_drop {
            child.job().terminate(1).unwrap();
            assert_eq!(child.wait(PATIENCE).unwrap(), Some(1));
        }
        drop(child);
        // Both had the pipe; it ends when they have.
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
    }
}

#[test]
fn a_child_gets_the_listed_handles_and_no_others() {
    let secret = File::open(std::env::current_exe().unwrap()).unwrap();
    let handle = secret.as_raw_handle();
    // SAFETY: the handle is open. It is inheritable now, as one is that another library made so.
    let set = unsafe { windows_sys::Win32::Foundation::SetHandleInformation(handle, 1, 1) };
    assert_ne!(set, 0);
    let number = handle as usize;
    // The control: std's own way to start a child passes every inheritable handle on.
    let control = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_part_of_the_child", "--nocapture"])
        .env(PART, format!("handle {number}"))
        .output()
        .unwrap();
    let control = String::from_utf8_lossy(&control.stdout).into_owned();
    assert!(control.contains("<1>"), "the control sees a file on disk: {control}");
    let (child, reader) = start(&format!("handle {number}"), JobLimits::default(), None);
    assert_eq!(child.unwrap().wait(PATIENCE).unwrap(), Some(0));
    assert_ne!(said(reader), "1", "the child has a handle that it was not given");
}

#[test]
fn a_program_that_is_not_there_and_a_batch_file_do_not_start() {
    let null = File::open("NUL").unwrap();
    for (program, step) in
        [(r"C:\no\such.exe", "create the process"), (r"C:\x.bat", "build the command line")]
    {
        let spec = ChildSpec {
            program: program.into(),
            args: Vec::new(),
            cwd: PathBuf::from(r"C:\"),
            environment: Vec::new(),
            streams: [null.as_handle(), null.as_handle(), null.as_handle()],
            limits: JobLimits::default(),
            token: None,
        };
        assert_eq!(spawn(&spec).unwrap_err().step, step);
    }
}

#[test]
fn a_job_refuses_a_process_too_many() {
    let limits = JobLimits { processes: Some(1), ..JobLimits::default() };
    let (child, reader) = start("tree", limits, None);
    let code = child.unwrap().wait(Some(Duration::from_secs(10))).unwrap();
    match code {
        Some(code) => assert!(code != 0 && !said(reader).contains("started")),
        None => skip!("this system does not enforce the number of processes of a job"),
    }
}

#[test]
fn a_job_ends_a_process_that_has_had_its_processor_time() {
    let limits = JobLimits { processor_time: Some(Duration::from_secs(1)), ..JobLimits::default() };
    let (child, reader) = start("compute", limits, None);
    let code = child.unwrap().wait(PATIENCE).unwrap().unwrap();
    if said(reader).contains("finished") {
        return skip!("this system does not enforce the processor time of a job");
    }
    assert_ne!(code, 0);
}

#[test]
fn every_limit_of_a_job_can_be_set() {
    let none = JobLimits::default();
    for (why, limits) in [
        ("processes", JobLimits { processes: Some(64), ..none }),
        ("memory", JobLimits { memory: Some(1 << 30), ..none }),
        ("processor time", JobLimits { processor_time: Some(Duration::from_secs(60)), ..none }),
        ("the desktop", JobLimits { no_desktop: true, ..none }),
    ] {
        match Job::new(&limits) {
            Ok(job) => assert_eq!(job.active_processes().unwrap(), 0, "{why}"),
            Err(error) => skip!("this system has no such limit ({why}): {error}"),
        }
    }
}

#[test]
fn a_restricted_token_is_read_back_and_a_child_that_is_not_low_never_runs() {
    // `new` fails where a privilege or the rights of administrators are left.
    let token = match RestrictedToken::new() {
        Ok(token) => token,
        Err(error) => return skip!("this system makes no restricted token: {error}"),
    };
    // A token whose level was not lowered: the launch is refused, by the level of the process itself.
    let (child, reader) = start("exit 42", JobLimits::default(), Some(&token));
    let error = child.unwrap_err();
    assert_eq!(error.step, "read back the integrity level", "{error}");
    assert_eq!(said(reader), "", "it never ran");
    if let Err(error) = token.lower_integrity() {
        return skip!("this system keeps no integrity levels: {error}");
    }
    let (child, _reader) = start("exit 42", JobLimits::default(), Some(&token));
    assert_eq!(child.unwrap().wait(PATIENCE).unwrap(), Some(42));
}

#[test]
fn a_directory_is_labelled_low_and_read_back() {
    use std::os::windows::fs::OpenOptionsExt as _;
    const READ_CONTROL: u32 = 0x0002_0000;
    const WRITE_OWNER: u32 = 0x0008_0000;
    const BACKUP_SEMANTICS_AND_OPEN_REPARSE_POINT: u32 = 0x0200_0000 | 0x0020_0000;
    let path = std::env::temp_dir().join(format!("picoclaw-label-{}", std::process::id()));
    std::fs::create_dir(&path).unwrap();
    let open = |access: u32| {
        std::fs::OpenOptions::new()
            .access_mode(access)
            .custom_flags(BACKUP_SEMANTICS_AND_OPEN_REPARSE_POINT)
            .open(&path)
            .unwrap()
    };
    assert!(
        label_low(File::open("NUL").unwrap().as_handle()).is_err(),
        "what cannot be labelled is an error"
    );
    if let Err(error) = label_low(open(READ_CONTROL | WRITE_OWNER).as_handle()) {
        skip!("this system keeps no integrity labels of files: {error}");
    }
    std::fs::remove_dir(&path).unwrap();
}
