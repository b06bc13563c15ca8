//! An instance of its own for a test, and the real binary in it.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A temporary instance.
pub(crate) struct TestInstance {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// What a run of the program came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestInstance {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// With this configuration file; `{dir}` in it is the temporary directory.
    pub(crate) fn with_config(config: &str) -> Self {
        Self::new().with_config_file(config)
    }

    /// The same, when something lies beside it already.
    pub(crate) fn with_config_file(self, config: &str) -> Self {
        DirBuilder::new().mode(0o700).create(self.home()).unwrap();
        self.configure(config);
        self
    }

    /// Whose program knows this variable besides.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn configure(&self, config: &str) {
        let text = config.replace("{dir}", self.dir().to_str().unwrap());
        std::fs::write(self.home().join("config.json"), text).unwrap();
    }

    /// The temporary directory; the instance lies in it.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir().join("home")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.home().join("workspace")
    }

    /// The program itself.
    pub(crate) fn binary() -> PathBuf {
        std::env::var_os("PICOCLAW_TEST_BINARY")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_picoclaw")), PathBuf::from)
    }

    /// A command on the binary, with nothing of the surrounding environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.wrapped(&[], arguments)
    }

    /// The same, started by another program that is given it as its last arguments.
    pub(crate) fn wrapped(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let binary = Self::binary();
        let mut words = wrapper.iter().map(OsStr::new).chain([binary.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir())
            .env("PICOCLAW_HOME", self.home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        ran(command.output().unwrap())
    }

    /// One tool call.
    pub(crate) fn tool(&self, name: &str, json: &str) -> Ran {
        self.run(&["tool", name, json])
    }

    /// Every record of the ledger.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        let ran = self.run(&["audit", "tail", "-n", "1000000", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What `picoclaw doctor` says about the backends of this host. Asked once, since it takes seconds and no instance changes it.
pub(crate) fn host() -> &'static serde_json::Value {
    static HOST: OnceLock<serde_json::Value> = OnceLock::new();
    HOST.get_or_init(|| {
        let ran = TestInstance::with_config("{}").run(&["doctor", "--json"]);
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["host"].take()
    })
}

/// Whether this host gives a native cage; a test that needs one reports that it was skipped.
pub(crate) fn has_native_cage(why: &str) -> bool {
    let native = &host()["native"];
    if native != "yes" {
        picoclaw_testing::skip!("{why}: this host gives no native cage: {native}");
    }
    native == "yes"
}

pub(crate) fn ran(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
