//! Plans as text: a request on a known host, the plan, and the same plan as bubblewrap's arguments.
//!
//! `PICOCLAW_BLESS=1 cargo test --test cage plans::` writes `spec/plans/*.txt` anew; read the difference before keeping it.

use crate::support::isolation;
use picoclaw_policy::config::{Expose, ExposeMode, IsolationConfig, Network};
use picoclaw_sandbox::isolate::{
    CommandSource, HiddenPath, HostEntry, HostEntryKind, InstancePaths, PlanError, PlanRequest,
    UserEnvironment, WorkspaceMount, bwrap_arguments, plan, toolchain_variables,
};
use picoclaw_sandbox::launch::Principal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A small host: merged `/usr`, a resolver behind a link, a toolchain, a user's home.
fn host() -> BTreeMap<PathBuf, HostEntry> {
    let mut host = BTreeMap::new();
    let mut add = |path: &str, resolved: &str, kind| {
        host.insert(PathBuf::from(path), HostEntry { resolved: resolved.into(), kind });
    };
    for directory in [
        "/usr",
        "/etc/alternatives",
        "/etc/ssl/certs",
        "/home/u/.picoclaw/workspace",
        "/home/u/.picoclaw/skills",
        "/home/u/.picoclaw/runtime-user-env/agents/main",
        "/home/u/.picoclaw/runtime-user-env/mcp/files",
        "/opt/toolchains/go",
        "/data/shared-assets",
        "/home/u/bin",
        "/home/u",
        "/home/u/docs",
        "/srv/tools/files/bin",
        "/home/u/.rustup",
        "/home/u/.cargo/bin",
        "/tmp/scripts",
        "/var/tmp/data",
        "/var/tmp/tools/files/bin",
    ] {
        add(directory, directory, HostEntryKind::Directory);
    }
    for file in [
        "/etc/hosts",
        "/etc/passwd",
        "/home/u/bin/srv",
        "/srv/tools/files/bin/srv",
        "/home/u/.picoclaw/config.json",
        "/tmp/scripts/server.py",
        "/var/tmp/tools/files/bin/srv",
    ] {
        add(file, file, HostEntryKind::File);
    }
    for (link, to) in [("/bin", "/usr/bin"), ("/lib", "/usr/lib"), ("/lib64", "/usr/lib64")] {
        add(link, to, HostEntryKind::Directory);
    }
    add("/etc/localtime", "/usr/share/zoneinfo/UTC", HostEntryKind::File);
    add("/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf", HostEntryKind::File);
    add("/usr/bin/node", "/usr/bin/node", HostEntryKind::File);
    host
}

fn view(environment: &str) -> InstancePaths {
    let root = PathBuf::from("/home/u/.picoclaw");
    InstancePaths {
        open_workspaces: Vec::new(),
        workspace: Some(WorkspaceMount { path: root.join("workspace"), mode: ExposeMode::ReadWrite }),
        user_environment: root.join("runtime-user-env").join(environment),
        skills: root.join("skills"),
        protected: vec![HiddenPath { path: root.clone(), kind: HostEntryKind::Directory }],
        root,
    }
}

fn expose(source: &str, target: &str, mode: ExposeMode) -> Expose {
    Expose { source: source.into(), target: target.into(), mode }
}

fn request<'r>(
    isolation: &'r IsolationConfig,
    instance: &'r InstancePaths,
    source: CommandSource<'r>,
) -> PlanRequest<'r> {
    PlanRequest {
        isolation,
        instance,
        source,
        work_dir: Path::new(WORKSPACE),
        home: Path::new("/home/u"),
        variables: &[],
        private: &[],
    }
}

fn compare(
    name: &str,
    isolation: &IsolationConfig,
    instance: &InstancePaths,
    source: CommandSource<'_>,
    work_dir: &str,
) {
    let request = PlanRequest {
        work_dir: Path::new(work_dir),
        private: &["/run/user/1000".into()],
        ..request(isolation, instance, source)
    };
    let plan = plan(&request, &host()).expect(name);
    let arguments = bwrap_arguments(&plan, &[], &BTreeMap::new());
    let mut text = plan.lines().join("\n");
    text.push_str("\n\nbwrap");
    for argument in &arguments {
        let argument = argument.to_string_lossy();
        text.push_str(if argument.starts_with("--") { "\n  " } else { " " });
        text.push_str(&argument);
    }
    text.push('\n');
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../spec/plans/{name}.txt"));
    if std::env::var_os("PICOCLAW_BLESS").is_some() {
        std::fs::write(&file, &text).expect("the plan can be written");
    }
    let want = std::fs::read_to_string(&file).expect("the plan is kept in `spec/plans`");
    assert_eq!(text, want, "{name}: the plan has changed");
}

const WORKSPACE: &str = "/home/u/.picoclaw/workspace";

#[test]
fn plans_are_as_they_were_read_last() {
    let main = view("agents/main");
    compare("default", &isolation(), &main, CommandSource::Model, WORKSPACE);

    let mut host_network = isolation();
    host_network.network = Network::Host;
    compare("host-network", &host_network, &main, CommandSource::Model, WORKSPACE);

    let mut exposed = isolation();
    exposed.expose_paths = vec![
        expose("/opt/toolchains/go", "/opt/toolchains/go", ExposeMode::ReadOnly),
        expose("/data/shared-assets", "/home/u/.picoclaw/workspace/assets", ExposeMode::ReadWrite),
        expose("/opt/toolchains/go", "/opt/go", ExposeMode::ReadWrite),
        expose("/opt/toolchains/go", "/opt/go", ExposeMode::ReadOnly),
    ];
    compare("expose-paths", &exposed, &main, CommandSource::Model, WORKSPACE);

    let mut toolchains = isolation();
    toolchains.toolchains = "auto".into();
    compare("toolchains", &toolchains, &main, CommandSource::Model, WORKSPACE);

    let mut home = isolation();
    home.expose_paths = vec![expose("/home/u", "/home/u", ExposeMode::ReadWrite)];
    compare("exposed-home", &home, &main, CommandSource::Model, WORKSPACE);

    let server = InstancePaths { workspace: None, ..view("mcp/files") };
    let arguments =
        ["/home/u/docs", "--root=/data/shared-assets", "--log=/home/u/new.log", "plain"].map(OsString::from);
    let own = "/home/u/.picoclaw/runtime-user-env/mcp/files";
    let source =
        CommandSource::Operator { program: Path::new("/srv/tools/files/bin/srv"), arguments: &arguments };
    compare("mcp-server", &isolation(), &server, source, own);

    let source = CommandSource::Operator { program: Path::new("/home/u/bin/srv"), arguments: &[] };
    compare("mcp-server-in-home-bin", &isolation(), &server, source, own);

    let mut temporary = isolation();
    temporary.expose_paths = vec![
        expose("/var/tmp/data", "/var/tmp/data", ExposeMode::ReadOnly),
        expose("/data/shared-assets", "/tmp/assets", ExposeMode::ReadWrite),
    ];
    let arguments = [OsString::from("/tmp/scripts/server.py")];
    let program = Path::new("/var/tmp/tools/files/bin/srv");
    let source = CommandSource::Operator { program, arguments: &arguments };
    compare("mcp-server-in-tmp", &temporary, &server, source, own);
}

#[test]
fn what_a_model_wrote_is_in_no_plan() {
    let (isolation, instance) = (isolation(), view("agents/main"));
    let request = |source| request(&isolation, &instance, source);
    let plain = plan(&request(CommandSource::Model), &host()).expect("a plan");
    // The same words that an operator's command would expose things by (W65, W72, W73).
    let arguments = ["-c", "x=/home/u/docs ;cd $x;cat f", "/home/u/docs"].map(OsString::from);
    let source = CommandSource::Operator { program: Path::new("/usr/bin/node"), arguments: &arguments };
    let asked = plan(&request(source), &host()).expect("a plan");
    let shows = |plan: &picoclaw_sandbox::isolate::Plan| {
        plan.lines().iter().any(|line| line.contains("/home/u/docs"))
    };
    assert!(shows(&asked), "control run: an operator's argument is shown");
    assert!(!shows(&plain));
}

#[test]
fn a_mount_above_a_hidden_path_shows_nothing_that_another_rule_hides() {
    let mut host = host();
    for path in ["/data", "/data/x", "/data/x/secrets", "/home/u/.picoclaw/teams/coder"] {
        host.insert(path.into(), HostEntry { resolved: path.into(), kind: HostEntryKind::Directory });
    }
    let mut instance = view("agents/main");
    for path in ["/data/x/secrets", "/home/u/.picoclaw/teams/coder"] {
        instance.protected.push(HiddenPath { path: path.into(), kind: HostEntryKind::Directory });
    }
    let (writable, read) = (ExposeMode::ReadWrite, ExposeMode::ReadOnly);
    for (why, exposures, above, is_mounted) in [
        ("it is pinned", vec![("/data", writable)], "rw /data/x", true),
        ("a read-only tree needs none", vec![("/data", read)], "/data/x", false),
        ("a later rule decides", vec![("/data", writable), ("/data", read)], "/data/x", false),
        ("a deeper rule decides", vec![("/data", writable), ("/data/x", read)], "rw /data/x", false),
        ("it lies in what is hidden", vec![("/home/u", writable)], "/home/u/.picoclaw/teams", false),
    ] {
        let isolation = IsolationConfig {
            expose_paths: exposures.iter().map(|(path, mode)| expose(path, path, *mode)).collect(),
            ..isolation()
        };
        let request = request(&isolation, &instance, CommandSource::Model);
        let lines = plan(&request, &host).expect(why).lines();
        let mounted = lines.iter().any(|line| line.contains(&format!("{above} ")));
        assert_eq!(mounted, is_mounted, "{why}: {lines:#?}");
    }
}

#[test]
fn a_link_in_a_workspace_shows_a_program_and_nothing_beside_it() {
    let mut host = host();
    let private = HostEntry { resolved: "/home/u/work/private/tool".into(), kind: HostEntryKind::File };
    host.insert("/home/u/.picoclaw/workspace/tool".into(), private.clone());
    host.insert("/srv/tools/tool".into(), private.clone());
    host.insert(private.resolved.clone(), private.clone());
    let directory = HostEntry { resolved: "/home/u/work/private".into(), kind: HostEntryKind::Directory };
    host.insert(directory.resolved.clone(), directory);
    let (isolation, instance) = (isolation(), view("agents/main"));
    for (program, shows_beside) in [("/home/u/.picoclaw/workspace/tool", false), ("/srv/tools/tool", true)] {
        let request = request(
            &isolation,
            &instance,
            CommandSource::Operator { program: Path::new(program), arguments: &[] },
        );
        let lines = plan(&request, &host).expect("a plan").lines();
        let shows = |path: &str| lines.contains(&format!("ro {path} (operator's command)"));
        assert_eq!(shows("/home/u/work/private"), shows_beside, "{program}: {lines:#?}");
        assert!(shows_beside || shows("/home/u/work/private/tool"), "{program}: {lines:#?}");
    }
}

#[test]
fn what_an_operator_names_in_a_temporary_directory_lies_on_top_of_the_private_one() {
    let mut host = host();
    for (link, to) in [("/var/run/tool.sock", "/run/tool.sock"), ("/bin/node", "/usr/bin/node")] {
        host.insert(link.into(), HostEntry { resolved: to.into(), kind: HostEntryKind::File });
    }
    let (isolation, instance) = (isolation(), InstancePaths { workspace: None, ..view("mcp/files") });
    let lines = |source: CommandSource<'_>| {
        let request = PlanRequest {
            work_dir: Path::new("/home/u/.picoclaw/runtime-user-env/mcp/files"),
            ..request(&isolation, &instance, source)
        };
        plan(&request, &host).expect("a plan").lines()
    };
    for (why, program, argument, private, shown) in [
        (
            "a program beneath /var/tmp",
            "/var/tmp/tools/files/bin/srv",
            "x",
            "scratch /var/tmp",
            Some("ro /var/tmp/tools/files/bin (operator's command)"),
        ),
        (
            "an argument beneath /var/tmp",
            "/usr/bin/node",
            "--data=/var/tmp/data",
            "scratch /var/tmp",
            Some("ro /var/tmp/data (operator's command)"),
        ),
        (
            "an argument beneath /tmp",
            "/usr/bin/node",
            "/tmp/scripts/server.py",
            "scratch /tmp",
            Some("ro /tmp/scripts/server.py (operator's command)"),
        ),
        (
            "an argument beneath /var/run",
            "/usr/bin/node",
            "/var/run/tool.sock",
            "scratch /tmp",
            Some("ro /var/run/tool.sock <- /run/tool.sock (operator's command)"),
        ),
        ("what a link shows anyway is not shown twice", "/bin/node", "x", "link /var/tmp -> /tmp", None),
    ] {
        let arguments = [OsString::from(argument)];
        let lines = lines(CommandSource::Operator { program: Path::new(program), arguments: &arguments });
        let at = |line: &str| lines.iter().position(|known| known == line);
        assert!(at(private).is_some(), "{why}: {lines:#?}");
        match shown {
            Some(shown) => assert!(at(private) < at(shown), "{why}: {lines:#?}"),
            None => assert!(lines.iter().all(|line| !line.contains("operator's")), "{why}: {lines:#?}"),
        }
    }
    let model = lines(CommandSource::Model);
    assert!(model.contains(&"link /var/tmp -> /tmp".to_owned()), "nothing follows for a model: {model:#?}");
}

#[test]
fn a_program_is_shown_the_tree_that_it_cannot_run_without() {
    let mut host = host();
    for (path, resolved, kind) in [
        ("/home/u/mcp/node_modules", "/home/u/mcp/node_modules", HostEntryKind::Directory),
        (
            "/home/u/mcp/node_modules/a/node_modules/b/x.js",
            "/home/u/mcp/node_modules/a/node_modules/b/x.js",
            HostEntryKind::File,
        ),
        ("/srv/app/.venv", "/srv/app/.venv", HostEntryKind::Directory),
        ("/srv/app/.venv/pyvenv.cfg", "/srv/app/.venv/pyvenv.cfg", HostEntryKind::File),
        ("/srv/app/.venv/bin", "/srv/app/.venv/bin", HostEntryKind::Directory),
        ("/srv/app/.venv/bin/python", "/usr/bin/python3", HostEntryKind::File),
        // The same by way of a link.
        ("/srv/link/.venv", "/srv/app/.venv", HostEntryKind::Directory),
        ("/srv/link/.venv/pyvenv.cfg", "/srv/app/.venv/pyvenv.cfg", HostEntryKind::File),
        ("/srv/link/.venv/bin", "/srv/app/.venv/bin", HostEntryKind::Directory),
        ("/srv/link/.venv/bin/python", "/usr/bin/python3", HostEntryKind::File),
        // A home that is an environment.
        ("/home/u/pyvenv.cfg", "/home/u/pyvenv.cfg", HostEntryKind::File),
    ] {
        host.insert(path.into(), HostEntry { resolved: resolved.into(), kind });
    }
    let (isolation, instance) = (isolation(), InstancePaths { workspace: None, ..view("mcp/files") });
    for (why, program, argument, shown) in [
        (
            "the outermost modules",
            "/usr/bin/node",
            "/home/u/mcp/node_modules/a/node_modules/b/x.js",
            "ro /home/u/mcp/node_modules (operator's command)",
        ),
        ("the environment", "/srv/app/.venv/bin/python", "x", "ro /srv/app/.venv (operator's command)"),
        (
            "under the name that it has",
            "/srv/link/.venv/bin/python",
            "x",
            "ro /srv/link/.venv <- /srv/app/.venv (operator's command)",
        ),
        ("nobody's home", "/home/u/bin/srv", "x", "ro /home/u/bin (operator's command)"),
    ] {
        let arguments = [OsString::from(argument)];
        let source = CommandSource::Operator { program: Path::new(program), arguments: &arguments };
        let request = PlanRequest {
            work_dir: Path::new("/home/u/.picoclaw/runtime-user-env/mcp/files"),
            ..request(&isolation, &instance, source)
        };
        let lines = plan(&request, &host).expect("a plan").lines();
        let own: Vec<_> = lines.iter().filter(|line| line.ends_with("(operator's command)")).collect();
        assert_eq!(own, [shown], "{why}");
    }
}

#[test]
fn a_working_directory_outside_the_view_is_no_plan() {
    let (isolation, instance) = (isolation(), view("agents/main"));
    for work_dir in
        ["/home/u", "/data/shared-assets", "/home/u/.picoclaw", "/home/u/.picoclaw/workspace-other"]
    {
        let request = PlanRequest {
            work_dir: Path::new(work_dir),
            ..request(&isolation, &instance, CommandSource::Model)
        };
        let error = plan(&request, &host()).expect_err(work_dir);
        assert!(matches!(error, PlanError::WorkDirOutside { .. }), "{work_dir}: {error}");
    }
}

#[test]
fn toolchains_are_found_where_the_operators_variables_say() {
    let mut host = host();
    for directory in ["/data/rustup", "/data/cargo/bin", "/data/jdk", "/opt/toolchains/go", "/home"] {
        host.insert(
            directory.into(),
            HostEntry { resolved: directory.into(), kind: HostEntryKind::Directory },
        );
    }
    let (mut isolation, instance) = (isolation(), view("agents/main"));
    isolation.toolchains = "auto".into();
    let user = UserEnvironment::of(Path::new("/i"), &Principal::Project("/p/app".into()));
    for (why, name, value, shown, led) in [
        ("rustup's home", "RUSTUP_HOME", "/data/rustup", Some("/data/rustup"), Some("/data/rustup")),
        (
            "of cargo's home its programs alone; the cache is private",
            "CARGO_HOME",
            "/data/cargo",
            Some("/data/cargo/bin"),
            Some("/i/runtime-user-env/run/app-f69650730a96c0d3/cache/cargo"),
        ),
        ("a JDK", "JAVA_HOME", "/data/jdk", Some("/data/jdk"), Some("/data/jdk")),
        ("Go", "GOROOT", "/opt/toolchains/go", Some("/opt/toolchains/go"), Some("/opt/toolchains/go")),
        ("not there", "GOROOT", "/nowhere", None, None),
        ("a home is no toolchain", "JAVA_HOME", "/home/u", None, None),
        ("nor is what holds homes", "CONDA_PREFIX", "/home", None, None),
        (
            "nothing of the instance",
            "PYENV_ROOT",
            "/home/u/.picoclaw/skills",
            None,
            Some("/home/u/.picoclaw/skills"),
        ),
        ("a relative path means nothing", "GOROOT", "go", None, None),
        ("nor does one with dots", "GOROOT", "/opt/../data/jdk", None, None),
    ] {
        let variables = [(OsString::from(name), OsString::from(value))];
        let request =
            PlanRequest { variables: &variables, ..request(&isolation, &instance, CommandSource::Model) };
        let plan = plan(&request, &host).expect(why);
        let line = |place: &str| format!("ro {place} (toolchain)");
        let is_shown = |place: &str| plan.lines().contains(&line(place));
        match shown {
            Some(place) => assert!(is_shown(place), "{why}: {:#?}", plan.lines()),
            None => assert!(!is_shown(value), "{why}: {:#?}", plan.lines()),
        }
        let led_to = toolchain_variables("auto", (Path::new("/home/u"), &variables), &host, &user);
        let last = led_to.iter().rev().find(|(known, _)| *known == name).map(|(_, place)| place.as_path());
        if shown.is_some() || led.is_none() {
            assert_eq!(last, led.map(Path::new), "{why}");
        }
    }
}

#[test]
fn an_exposure_leaves_nothing_behind_but_an_empty_directory() {
    let mut host = host();
    for file in ["/data/file", "/home/u/.picoclaw/workspace/there", "/opt/toolchains/go/there"] {
        host.insert(file.into(), HostEntry { resolved: file.into(), kind: HostEntryKind::File });
    }
    let instance = view("agents/main");
    for (why, source, target, fits) in [
        ("a directory in the workspace", "/data/shared-assets", "/home/u/.picoclaw/workspace/assets", true),
        ("a file over one that is there", "/data/file", "/home/u/.picoclaw/workspace/there", true),
        ("a file where there is none", "/data/file", "/home/u/.picoclaw/workspace/none", false),
        ("a file over a read-only one", "/data/file", "/opt/go/there", true),
        ("a file in a read-only tree", "/data/file", "/opt/go/none", false),
        ("a directory in a read-only tree", "/data/shared-assets", "/opt/go/none", false),
        ("a file on our own ground", "/data/file", "/srv/none", true),
    ] {
        let mut isolation = isolation();
        isolation.expose_paths = vec![
            expose("/opt/toolchains/go", "/opt/go", ExposeMode::ReadOnly),
            expose(source, target, ExposeMode::ReadOnly),
        ];
        let request = request(&isolation, &instance, CommandSource::Model);
        match plan(&request, &host) {
            Ok(_) => assert!(fits, "{why}"),
            Err(error) => assert!(!fits && matches!(error, PlanError::NoMountPoint { .. }), "{why}: {error}"),
        }
    }
}

#[test]
fn a_part_of_another_agents_workspace_is_not_shown_to_this_one() {
    let mut isolation = isolation();
    isolation.expose_paths = vec![expose("/data/shared-assets", "/data/shared-assets", ExposeMode::ReadOnly)];
    let mut instance = view("agents/main");
    instance.protected.push(HiddenPath { path: "/data".into(), kind: HostEntryKind::Directory });
    let request = request(&isolation, &instance, CommandSource::Model);
    let error = plan(&request, &host()).expect_err("it lies in the other's workspace");
    assert!(matches!(error, PlanError::Protected { .. }), "{error}");
}

/// A program outside that replaces the file removes what is mounted over it.
#[test]
fn a_tree_with_a_protected_file_in_it_is_not_shown() {
    let mut isolation = isolation();
    isolation.expose_paths = vec![expose("/data/shared-assets", "/data/shared-assets", ExposeMode::ReadOnly)];
    for (kind, is_shown) in [(HostEntryKind::File, false), (HostEntryKind::Directory, true)] {
        let mut instance = view("agents/main");
        instance.protected.push(HiddenPath { path: "/data/shared-assets/own".into(), kind });
        match plan(&request(&isolation, &instance, CommandSource::Model), &host()) {
            Ok(plan) => {
                assert!(is_shown && plan.lines().iter().any(|line| line.contains("/data/shared-assets/own")))
            }
            Err(error) => assert!(!is_shown && matches!(error, PlanError::Holds { .. }), "{error}"),
        }
    }
}
