//! Whole jobs in the cage against the host: a cargo build, an npm install from the cache, a pytest run.
//!
//! Invariant: both sides begin each round with the same files, and nothing is fetched.

use super::Stop;
use super::instance::BenchInstance;
use super::measure::{Clock, Figures};
use super::table::Table;
use std::path::Path;
#[expect(clippy::disallowed_types, reason = "a measurement is no tool: nothing here comes from a model")]
use std::process::{Command, Stdio};

const ROUNDS: usize = 7;

/// A job: its name, the program that it needs, how it is set up, what a round begins with, and what is timed. They are
/// shell lines in the job's directory.
struct Job {
    name: &'static str,
    needs: &'static str,
    prepare: &'static str,
    reset: &'static str,
    run: &'static str,
}

const JOBS: [Job; 3] = [
    Job {
        name: "cargo build of 40 modules",
        needs: "cargo --version",
        prepare: "mkdir -p src && printf '[package]\\nname = \"job\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml \
            && for i in $(seq 40); do printf 'pub fn f(x: u64) -> String { (0..x).map(|n| format!(\"{n}-%s\")).collect() }\\n' $i > src/m$i.rs; echo \"pub mod m$i;\"; done > src/lib.rs",
        reset: "rm -rf target",
        run: "cargo build --offline --quiet",
    },
    Job {
        name: "npm install of 30 packages from the cache",
        needs: "npm --version",
        // A lock file with hashes is what makes npm look into its cache alone.
        prepare: r#"mkdir -p packed cache && node -e '
const { execFileSync } = require("child_process"), fs = require("fs");
const npm = (args, cwd) => execFileSync("npm", [...args, "--cache", process.cwd() + "/cache"], { cwd, stdio: ["ignore", "pipe", "ignore"] });
const packages = { "": { name: "job", version: "1.0.0", dependencies: {} } };
for (let i = 0; i < 30; i++) {
  const dir = `packed/dep${i}`;
  fs.mkdirSync(dir);
  fs.writeFileSync(`${dir}/package.json`, JSON.stringify({ name: `dep${i}`, version: "1.0.0" }));
  for (let f = 0; f < 20; f++) fs.writeFileSync(`${dir}/f${f}.js`, "module.exports = 1;\n".repeat(50));
  const packed = JSON.parse(npm(["pack", "--json"], dir))[0];
  npm(["cache", "add", `${process.cwd()}/${dir}/${packed.filename}`]);
  packages[""].dependencies[`dep${i}`] = "1.0.0";
  packages[`node_modules/dep${i}`] = { version: "1.0.0", resolved: `https://registry.invalid/dep${i}.tgz`, integrity: packed.integrity };
}
fs.writeFileSync("package.json", JSON.stringify(packages[""]));
fs.writeFileSync("package-lock.json", JSON.stringify({ name: "job", version: "1.0.0", lockfileVersion: 3, requires: true, packages }));
'"#,
        reset: "rm -rf node_modules",
        run: "npm ci --offline --no-audit --no-fund --silent --cache \"$PWD/cache\"",
    },
    Job {
        name: "pytest of 300 tests",
        needs: "pytest --version",
        prepare: "for i in $(seq 300); do printf 'def test_%s(tmp_path):\\n    (tmp_path / \"a\").write_text(\"a\")\\n' $i; done > test_job.py",
        reset: "rm -rf .pytest_cache __pycache__",
        run: "pytest -q -p no:cacheprovider >/dev/null",
    },
];

/// Measures each job that this machine has the program for.
#[expect(clippy::disallowed_types, reason = "as above")]
pub(crate) fn measured(
    picoclaw: &Path,
    instance: &BenchInstance,
    disk: &Path,
    table: &mut Table,
) -> Result<(), Stop> {
    for (index, job) in JOBS.iter().enumerate() {
        let dir = disk.join(format!("job{index}"));
        std::fs::create_dir(&dir)?;
        let host = |line: &str| shell(Command::new("sh"), &dir, line);
        if host(job.needs).is_err() {
            table.skipped(job.name, &format!("`{}` fails", job.needs));
            continue;
        }
        host(job.prepare)?;
        let cage = |line: &str| {
            let mut run = Command::new(picoclaw);
            run.args(["run", "--", "sh"]).env("PICOCLAW_HOME", &instance.home);
            shell(run, &dir, line)
        };
        let (mut in_cage, mut on_host) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let timed = |figures: &mut Vec<f64>, run: &dyn Fn(&str) -> Result<(), Stop>| {
                host(job.reset)?;
                let begun = Clock::Wall.now();
                run(job.run)?;
                let took = Clock::Wall.now() - begun;
                // The first round fills caches of both.
                if round > 0 {
                    figures.push(took);
                }
                Ok::<_, Stop>(())
            };
            if round % 2 == 0 {
                timed(&mut in_cage, &cage)?;
                timed(&mut on_host, &host)?;
            } else {
                timed(&mut on_host, &host)?;
                timed(&mut in_cage, &cage)?;
            }
        }
        let (in_cage, on_host) = (Figures::new(in_cage), Figures::new(on_host));
        table.told(&format!("{}, on the host", job.name), &on_host.time());
        table.told(&format!("{}, in the cage", job.name), &in_cage.time());
        table.told(&format!("{}, cage over host", job.name), &in_cage.over(&on_host).times());
    }
    Ok(())
}

/// Runs a line with this machine's own environment; an error if it fails.
#[expect(clippy::disallowed_types, reason = "as above")]
fn shell(mut command: Command, dir: &Path, line: &str) -> Result<(), Stop> {
    command.args(["-c", line]).current_dir(dir);
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if ran.status.success() {
        return Ok(());
    }
    Err(format!("`{line}`: {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr)).into())
}
