//! What a cage costs: a direct start, bubblewrap, and ours, taking turns.
//!
//! Each contestant runs `/bin/true`. Ratios are taken round by round, so that whatever else the machine does meets all of them.
//!
//! Invariant: every child is waited for; what bubblewrap cannot do here is told, not guessed.

use super::Stop;
use super::instance::BenchInstance;
use super::measure::{Clock, Figures, take_turns, time};
use super::process::resident;
use super::table::Table;
use picoclaw_policy::config::{Config, ExposeMode, FenceMode, Network};
use picoclaw_sandbox::isolate::{
    Backend, Cage, CommandSource, Confinement, InstancePaths, LiveHost, PlanRequest, SearchPath,
    UserEnvironment, WorkspaceMount, cage_variables, plan,
};
use picoclaw_sandbox::launch::{
    Deadline, LaunchSpec, Output, OutputLimit, Principal, Status, Stdin, Streams, WorkDir, run_to_end,
};
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 220;

/// The least that bubblewrap can be asked for and still be a cage.
const MINIMAL: &[&str] = &[
    "--unshare-all",
    "--share-net",
    "--die-with-parent",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
];

/// What the original shows read-only, as far as it is there.
const ORIGINALS: &[&str] = &[
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/etc/alternatives",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/usr/bin/sh",
    "/usr/bin",
    "/usr/bin/dash",
];

/// Direct, bubblewrap twice, `picoclaw run`, and the cage from inside this process.
pub(crate) fn costs(picoclaw: &Path, instance: &BenchInstance, table: &mut Table) -> Result<(), Stop> {
    let bwrap = Path::new("/usr/bin/bwrap");
    if !bwrap.exists() {
        table.skipped("what a cage costs", "bubblewrap is not installed");
        return Ok(());
    }
    let spec = in_process(instance)?;
    let project = instance.home.join("project");
    rustix::fs::mkdir(&project, 0o700.into())
        .or_else(|errno| if errno == rustix::io::Errno::EXIST { Ok(()) } else { Err(errno) })?;
    let original = original(instance);
    let mut ways: Vec<Box<dyn FnMut() -> Result<f64, Stop> + '_>> = vec![
        Box::new(|| timed(command(Path::new("/bin/true"), instance, &project))),
        Box::new(|| timed(command(bwrap, instance, &project).args(MINIMAL).args(["--", "/bin/true"]))),
        Box::new(|| timed(command(bwrap, instance, &project).args(&original).args(["--", "/bin/true"]))),
        Box::new(|| {
            timed(command(picoclaw, instance, &project).args(["run", "--net", "host", "--", "/bin/true"]))
        }),
        Box::new(|| timed(command(picoclaw, instance, &project).args(["run", "--", "/bin/true"]))),
        Box::new(|| {
            let began = Instant::now();
            let done = run_to_end(spec()?)?;
            let took = began.elapsed().as_nanos() as f64;
            if done.status == Status::Exited(0) {
                Ok(took)
            } else {
                Err(format!("a caged child ended with {:?}", done.status).into())
            }
        }),
    ];
    let mut figures = vec![Vec::new(); ways.len()];
    for round in 0..ROUNDS + 3 {
        for step in 0..ways.len() {
            let who = (round + step) % ways.len();
            let took = ways[who]()?;
            // The first rounds fetch everything into memory.
            if round >= 3 {
                figures[who].push(took);
            }
        }
    }
    drop(ways);
    let figures: Vec<Figures> = figures.into_iter().map(Figures::new).collect();
    let [direct, minimal, originals, run, lonely, inside] = figures.as_slice() else {
        return Err("six ways".into());
    };
    table.told(&format!("a direct start of `/bin/true` ({})", time(direct.median())), &"1×");
    table.told("bubblewrap, minimal / direct", &minimal.over(direct).times());
    table.told("bubblewrap, the original's plan / direct", &originals.over(direct).times());
    table.told("`picoclaw run --net host` / direct", &run.over(direct).times());
    table.told("`picoclaw run` (no network) / direct", &lonely.over(direct).times());
    table.told("the native cage, in process / direct", &inside.over(direct).times());
    let launcher = launcher_memory(command(picoclaw, instance, &project))?;
    table.told(
        "resident memory of `picoclaw run` while its command runs",
        &format!("{:.2} MB", launcher / 1e6),
    );
    let ratio = run.over(minimal);
    table.told("`picoclaw run --net host` / bubblewrap minimal", &ratio.times());
    let ratio = inside.over(minimal);
    table.told("the native cage, in process / bubblewrap minimal", &ratio.times());
    let ratio = run.over(originals);
    table.told("`picoclaw run --net host` / the original's plan", &ratio.times());
    Ok(())
}

/// A whole call of `exec` for the builtin `true`, with isolation off: without a fence, and with each.
pub(crate) fn fences(quiet: &Path, table: &mut Table) -> Result<(), Stop> {
    let create = |name: &str, fence| BenchInstance::with_fence(&quiet.join(name), fence);
    let open = create("unfenced", FenceMode::Off)?;
    let writes = create("write-fenced", FenceMode::Writes)?;
    let full = create("fenced", FenceMode::Full)?;
    let run = |instance: &BenchInstance| instance.call("exec", json!({"command": "true"})).map(drop);
    let figures =
        take_turns(Clock::Wall, ROUNDS, &mut [&mut || run(&open), &mut || run(&writes), &mut || run(&full)])?;
    let [open, writes, full] = figures.as_slice() else { return Err("three fences".into()) };
    table.told("a call of `exec` for `true`, no fence", &open.time());
    table.told("  what the write fence adds", &writes.less(open).time());
    table.told("  what the full fence adds", &full.less(open).time());
    Ok(())
}

/// A maker of specs for `/bin/true` in the cage that an agent's commands get, sharing the network like the peers.
fn in_process(instance: &BenchInstance) -> Result<impl Fn() -> Result<LaunchSpec, Stop> + '_, Stop> {
    let mut config = Config::default();
    config.isolation.enabled = true;
    config.isolation.network = Network::Host;
    let user = UserEnvironment::of(&instance.home, &Principal::Project("/".into()));
    user.prepare()?;
    let view = InstancePaths {
        root: instance.home.clone(),
        workspace: Some(WorkspaceMount { path: instance.workspace.clone(), mode: ExposeMode::ReadWrite }),
        user_environment: user.path().to_owned(),
        skills: instance.home.join("skills"),
        protected: Vec::new(),
        open_workspaces: Vec::new(),
    };
    let request = PlanRequest {
        isolation: &config.isolation,
        instance: &view,
        source: CommandSource::Model,
        work_dir: &instance.workspace,
        home: Path::new("/nonexistent"),
        variables: &[],
        private: &[],
    };
    let cage = Cage::new(plan(&request, &LiveHost)?, Backend::Native)?;
    let confinement = Confinement::Cage(Arc::new(cage));
    let host = [("PATH".into(), "/usr/bin:/bin".into())];
    let environment = cage_variables(host, &user, &[], SearchPath::Outside(None));
    Ok(move || {
        let work_dir = WorkDir::open(&instance.workspace)?;
        let setup = confinement.child_setup(work_dir, Vec::new())?;
        Ok(LaunchSpec {
            program: "/bin/true".into(),
            argv: vec!["true".into()],
            environment: environment.clone(),
            streams: Streams::Plain { stdin: Stdin::Null, output: Output::Pipes },
            deadline: Deadline::None,
            output_limit: OutputLimit::default(),
            principal: Principal::Project("/".into()),
            setup,
        })
    })
}

fn original(instance: &BenchInstance) -> Vec<String> {
    let home = instance.home.display().to_string();
    let workspace = instance.workspace.display().to_string();
    let mut arguments: Vec<String> =
        ["--die-with-parent", "--unshare-ipc", "--proc", "/proc", "--dev", "/dev", "--bind", &home, &home]
            .map(str::to_owned)
            .into();
    for path in ORIGINALS.iter().filter(|path| PathBuf::from(path).exists()) {
        arguments.extend(["--ro-bind", path, path].map(str::to_owned));
    }
    arguments.extend(["--bind", &workspace, &workspace, "--chdir", &workspace].map(str::to_owned));
    arguments
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn command(program: &Path, instance: &BenchInstance, project: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("PICOCLAW_HOME", &instance.home)
        .current_dir(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Bytes that the launcher has resident while its command waits for input.
#[expect(clippy::disallowed_types, reason = "as above")]
fn launcher_memory(mut command: Command) -> Result<f64, Stop> {
    command
        .args(["run", "--", "/bin/sh", "-c", "echo; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut first = [0];
    child.stdout.as_mut().ok_or("a pipe")?.read_exact(&mut first)?;
    // Within this time it has settled down to wait.
    std::thread::sleep(Duration::from_millis(300));
    let memory = resident(child.id());
    drop(child.stdin.take());
    child.wait()?;
    memory
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn timed(mut command: impl std::borrow::BorrowMut<Command>) -> Result<f64, Stop> {
    let command = command.borrow_mut();
    let began = Instant::now();
    let status = command.status()?;
    let took = began.elapsed().as_nanos() as f64;
    if status.success() { Ok(took) } else { Err(format!("{command:?} ended with {status}").into()) }
}
