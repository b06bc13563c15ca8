//! `picoclaw cron`: what it prints, what it keeps, and what a run comes to.

use crate::test_instance::TestInstance;
use serde_json::{Value, json};

const CONFIG: &str =
    r#"{"version": 3, "agents": {"agents": [{"id": "main", "default": true}, {"id": "coder"}]}}"#;

fn add(instance: &TestInstance, more: &[&str]) -> String {
    let ran = instance.run(&[&["cron", "add", "-n", "job"], more].concat());
    assert_eq!(ran.code, 0, "{more:?}: {ran:?}");
    let id = ran.stdout.strip_prefix("✓ Added job 'job' (").and_then(|rest| rest.strip_suffix(")\n"));
    let id = id.unwrap_or_else(|| panic!("{ran:?}")).to_owned();
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    id
}

fn list(instance: &TestInstance) -> Vec<Value> {
    let ran = instance.run(&["cron", "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn job(instance: &TestInstance, id: &str) -> Value {
    list(instance).into_iter().find(|job| job["id"] == id).unwrap()
}

#[test]
fn jobs_are_added_listed_switched_and_removed() {
    let instance = TestInstance::with_config(CONFIG);
    assert_eq!(instance.run(&["cron", "list"]).stdout, "No scheduled jobs.\n");
    assert_eq!(list(&instance), Vec::<Value>::new());
    let every = add(&instance, &["-m", "hello", "-e", "60"]);
    let cron = add(&instance, &["--command", "echo hi", "-c", "0 9 * * 1-5", "--tz", "Europe/Berlin"]);
    let at = add(&instance, &["--message", "-5 degrees", "--at", "3600", "--agent", "coder"]);
    let one = job(&instance, &every);
    assert_eq!((&one["name"], &one["enabled"], &one["agent"]), (&json!("job"), &json!(true), &json!("main")));
    assert_eq!(one["schedule"], json!({"kind": "every", "everyMs": 60_000}));
    assert_eq!(one["payload"], json!({"kind": "agent_turn", "message": "hello"}));
    assert!(one["state"]["nextRunAtMs"].as_i64().unwrap() > one["createdAtMs"].as_i64().unwrap());
    assert_eq!((&one["state"]["lastRunAtMs"], &one["state"]["lastStatus"]), (&Value::Null, &Value::Null));
    assert_eq!(one["deleteAfterRun"], false);
    let two = job(&instance, &cron);
    assert_eq!(two["schedule"], json!({"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin"}));
    assert_eq!(two["payload"]["command"], "echo hi");
    let three = job(&instance, &at);
    assert_eq!((&three["agent"], &three["deleteAfterRun"]), (&json!("coder"), &json!(true)));
    let text = instance.run(&["cron", "list"]).stdout;
    for line in ["Scheduled Jobs:", "    Schedule: every 60s", "    Schedule: 0 9 * * 1-5 (Europe/Berlin)"] {
        assert!(text.lines().any(|one| one == line), "no `{line}` in {text}");
    }
    assert_eq!(instance.run(&["cron", "disable", &every]).stdout, "✓ Job 'job' disabled\n");
    let off = job(&instance, &every);
    assert_eq!((&off["enabled"], &off["state"]["nextRunAtMs"]), (&json!(false), &Value::Null));
    assert_eq!(instance.run(&["cron", "enable", &every]).stdout, "✓ Job 'job' enabled\n");
    assert!(job(&instance, &every)["state"]["nextRunAtMs"].is_i64());
    assert_eq!(instance.run(&["cron", "remove", &every]).stdout, format!("✓ Removed job {every}\n"));
    for action in ["remove", "enable", "disable", "run"] {
        let ran = instance.run(&["cron", action, &every]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{action}");
        assert_eq!(ran.stderr, format!("✗ Job {every} not found\n"), "{action}");
    }
    assert_eq!(list(&instance).len(), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(instance.home().join("state/cron/jobs.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_cannot_be_scheduled_is_bad_usage() {
    let instance = TestInstance::with_config(CONFIG);
    for (why, more) in [
        ("nothing to do", &["-n", "n", "-e", "60"][..]),
        ("no time", &["-n", "n", "-m", "x"]),
        ("no name", &["-m", "x", "-e", "60"]),
        ("an empty name", &["-n", " ", "-m", "x", "-e", "60"]),
        ("two times", &["-n", "n", "-m", "x", "-e", "60", "-c", "* * * * *"]),
        ("two things to do", &["-n", "n", "-m", "x", "--command", "ls", "-e", "60"]),
        ("no seconds", &["-n", "n", "-m", "x", "-e", "0"]),
        ("too many seconds", &["-n", "n", "-m", "x", "--at", "18446744073709551615"]),
        ("half an expression", &["-n", "n", "-m", "x", "-c", "* * *"]),
        ("a day that is none", &["-n", "n", "-m", "x", "-c", "0 0 30 2 *"]),
        ("a zone that is none", &["-n", "n", "-m", "x", "-c", "* * * * *", "--tz", "Mars/Olympus"]),
        ("a zone without an expression", &["-n", "n", "-m", "x", "-e", "60", "--tz", "UTC"]),
        ("an agent that is none", &["-n", "n", "-m", "x", "-e", "60", "--agent", "nobody"]),
        ("an empty message", &["-n", "n", "-m", " ", "-e", "60"]),
    ] {
        let ran = instance.run(&[&["cron", "add"], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{why}: {ran:?}");
    }
    assert!(list(&instance).is_empty());
}

#[test]
fn a_run_by_hand_is_an_ordinary_call_and_its_status_is_kept() {
    let instance = TestInstance::with_config(CONFIG);
    for (why, command, code, stdout, status) in [
        ("done", "echo hi", 0, "hi\n", "ok"),
        ("failed", "exit 3", 1, "", "error"),
        ("refused", "sudo ls", 1, "", "refused"),
    ] {
        let id = add(&instance, &["--command", command, "-e", "3600"]);
        let before = job(&instance, &id);
        let ran = instance.run(&["cron", "run", &id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{why}: {ran:?}");
        let after = job(&instance, &id);
        assert_eq!(after["state"]["lastStatus"], status, "{why}");
        assert_eq!(
            after["state"]["nextRunAtMs"], before["state"]["nextRunAtMs"],
            "{why}: the schedule stays"
        );
        assert!(after["state"]["lastRunAtMs"].is_i64(), "{why}");
        let of_job = |record: &Value| record["session"] == format!("cron:{id}");
        let records: Vec<Value> = instance.records().into_iter().filter(of_job).collect();
        assert_eq!(records.len(), 2, "{why}");
        assert!(records.iter().all(|one| one["origin"] == "cron" && one["tool"] == "exec"), "{why}");
    }
    let id =
        add(&instance, &["-m", "echo as a line of the embedded provider", "-e", "3600", "--agent", "coder"]);
    let ran = instance.run(&["cron", "run", &id]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "as a line of the embedded provider\n"), "{ran:?}");
    let listed = instance.run(&["session", "list", "--agent", "coder"]).stdout;
    assert!(listed.contains(&format!("coder  agent:cron-{id}-")), "{listed}");
    let refused = add(&instance, &["-m", "sudo ls", "-e", "3600"]);
    assert_eq!(instance.run(&["cron", "run", &refused]).code, 1);
    assert_eq!(job(&instance, &refused)["state"]["lastStatus"], "refused");
}

#[test]
fn no_command_is_scheduled_where_none_may_be() {
    let instance =
        TestInstance::with_config(r#"{"version": 3, "tools": {"cron": {"allow_command": false}}}"#);
    let ran = instance.run(&["cron", "add", "-n", "n", "--command", "ls", "-e", "60"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("tools.cron.allow_command"), "{ran:?}");
    add(&instance, &["-m", "a message is fine", "-e", "60"]);
}

#[test]
fn an_agent_at_the_command_line_has_no_cron_and_no_way_to_its_store() {
    let instance = TestInstance::with_config(CONFIG);
    let id = add(&instance, &["-m", "x", "-e", "60"]);
    let listed = instance.run(&["tool", "list"]).stdout;
    assert!(!listed.contains("cron"), "{listed}");
    let store = instance.home().join("state/cron/jobs.json");
    let before = std::fs::read_to_string(&store).unwrap();
    let forged = json!({"path": store, "content": before.replace("\"x\"", "\"forged\""), "overwrite": true});
    for (tool, arguments) in [
        ("write_file", forged.to_string()),
        ("read_file", json!({"path": store}).to_string()),
        ("exec", json!({"command": format!("cat {}", store.display())}).to_string()),
    ] {
        assert_eq!(instance.tool(tool, &arguments).code, 1, "{tool}");
    }
    assert_eq!(std::fs::read_to_string(&store).unwrap(), before);
    assert_eq!(list(&instance)[0]["id"], id.as_str());
}

#[test]
fn what_jobs_are_called_moves_no_cursor() {
    let instance = TestInstance::with_config(CONFIG);
    let ran = instance.run(&["cron", "add", "-n", "\u{1b}[2Jgone", "-m", "\u{1b}]0;title\u{7}", "-e", "60"]);
    assert_eq!(ran.code, 0);
    let (text, json) =
        (instance.run(&["cron", "list"]).stdout, instance.run(&["cron", "list", "--json"]).stdout);
    for shown in [ran.stdout, text, json] {
        assert!(!shown.contains(['\u{1b}', '\u{7}']) && shown.contains("gone"), "{shown:?}");
    }
}

#[test]
fn a_store_that_is_broken_is_said_and_left_alone() {
    let instance = TestInstance::with_config(CONFIG);
    add(&instance, &["-m", "x", "-e", "60"]);
    let store = instance.home().join("state/cron/jobs.json");
    std::fs::write(&store, "{broken").unwrap();
    for arguments in [&["cron", "list"][..], &["cron", "add", "-n", "n", "-m", "x", "-e", "60"]] {
        let ran = instance.run(arguments);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("is not a valid list of jobs"), "{ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&store).unwrap(), "{broken");
}

#[test]
fn a_job_goes_by_its_name_and_a_time_by_its_unit() {
    let instance = TestInstance::with_config(CONFIG);
    let added = instance.run(&["cron", "add", "-n", "hourly", "--command", "echo by name", "-e", "1h"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(list(&instance)[0]["schedule"]["everyMs"], 3_600_000);
    let ran = instance.run(&["cron", "run", "hourly"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "by name\n"), "{ran:?}");
    assert_eq!(instance.run(&["cron", "disable", "hourly"]).code, 0);
    assert_eq!(instance.run(&["cron", "add", "-n", "hourly", "-m", "x", "--at", "10m"]).code, 0);
    let two = instance.run(&["cron", "remove", "hourly"]);
    assert!(
        two.code == 2 && two.stderr.contains("2 jobs are called `hourly`\nhint: name one by its id: "),
        "{two:?}"
    );
    assert_eq!(list(&instance).len(), 2, "nothing was removed");
    assert_eq!(instance.run(&["cron", "run", "nobody"]).code, 1);
    assert_eq!(instance.run(&["cron", "add", "-n", "x", "-m", "x", "-e", "soon"]).code, 2);
}
