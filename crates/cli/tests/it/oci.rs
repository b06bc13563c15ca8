//! Real containers: bundles for `runc` with the default system call filter and a masked `/proc`, as engines make them.
//!
//! The first use is confined, a script in the workspace reads nothing of a home, and `doctor` says what was seen.

use crate::run::is_here;
use crate::test_instance::TestInstance;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// The profile of Podman and Buildah.
const PROFILE: &str = "/usr/share/containers/seccomp.json";
/// What engines leave to root in a container.
const CAPABILITIES: &[&str] = &[
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespaces {
    /// As the profile has them.
    Default,
    /// No process makes a user namespace.
    Refused,
}

/// Podman's profile as a runtime takes it: without the rules for other capabilities and machines.
fn seccomp(capabilities: &[&str], namespaces: Namespaces) -> Value {
    let profile: Value = serde_json::from_str(&fs::read_to_string(PROFILE).unwrap()).unwrap();
    let names = |rule: &Value, key: &str, part: &str| -> Vec<String> {
        let list = rule[key][part].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let has = |name: &String| capabilities.contains(&name.as_str());
    let ours = |name: &String| name == "amd64";
    let applies = |rule: &&Value| {
        names(rule, "includes", "caps").iter().all(has)
            && !names(rule, "excludes", "caps").iter().any(has)
            && (names(rule, "includes", "arches").is_empty()
                || names(rule, "includes", "arches").iter().any(ours))
            && !names(rule, "excludes", "arches").iter().any(ours)
    };
    let mut rules: Vec<Value> = Vec::new();
    for rule in profile["syscalls"].as_array().unwrap().iter().filter(applies) {
        let mut rule = rule.clone();
        if namespaces == Namespaces::Refused {
            let makes =
                |name: &Value| ["clone", "clone3", "unshare", "setns"].contains(&name.as_str().unwrap());
            rule["names"].as_array_mut().unwrap().retain(|name| !makes(name));
        }
        for key in ["includes", "excludes", "comment", "errno"] {
            rule.as_object_mut().unwrap().remove(key);
        }
        if !rule["names"].as_array().unwrap().is_empty() {
            rules.push(rule);
        }
    }
    if namespaces == Namespaces::Refused {
        let none = json!({"index": 0, "value": 0x7E02_0000_u32, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"});
        rules.push(json!({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [none]}));
        rules.push(json!({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}));
    }
    json!({
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"].as_u64().unwrap_or(1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    })
}

/// Runs a script in a container of this user, whose home holds a secret.
fn in_container(uid: u32, namespaces: Namespaces, script: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let (root, home) = (dir.path().join("rootfs"), if uid == 0 { "/root" } else { "/home/you" });
    let inside = |path: &str| root.join(path.trim_start_matches('/'));
    fs::create_dir_all(inside(home)).unwrap();
    fs::create_dir_all(inside("/tmp")).unwrap();
    fs::set_permissions(inside("/tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(inside(home).join(".netrc"), "SECRET\n").unwrap();
    for path in [inside(home), inside(home).join(".netrc")] {
        chown(path, Some(uid), Some(uid)).unwrap();
    }
    assert!(Command::new("runc").arg("spec").current_dir(dir.path()).status().unwrap().success());
    let file = dir.path().join("config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let capabilities = if uid == 0 { CAPABILITIES } else { &[] };
    let process = &mut config["process"];
    process["terminal"] = json!(false);
    process["noNewPrivileges"] = json!(false);
    process["user"] = json!({"uid": uid, "gid": uid});
    process["args"] = json!(["sh", "-c", script]);
    process["env"] = json!(["PATH=/usr/local/bin:/usr/bin:/bin", format!("HOME={home}")]);
    process["capabilities"] =
        json!({"bounding": CAPABILITIES, "effective": capabilities, "permitted": capabilities});
    config["root"] = json!({"path": "rootfs", "readonly": false});
    let mounts = config["mounts"].as_array_mut().unwrap();
    for shown in ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"].map(Path::new) {
        match fs::read_link(shown) {
            Ok(target) => symlink(target, inside(shown.to_str().unwrap())).unwrap(),
            Err(_) if !shown.exists() => {}
            Err(_) => mounts.push(
                json!({"destination": shown, "type": "bind", "source": shown, "options": ["rbind", "ro"]}),
            ),
        }
    }
    mounts.push(json!({
        "destination": "/picoclaw", "type": "bind", "source": TestInstance::binary(), "options": ["bind", "ro"]
    }));
    config["linux"]["seccomp"] = seccomp(capabilities, namespaces);
    config["linux"].as_object_mut().unwrap().remove("resources");
    fs::write(&file, config.to_string()).unwrap();
    let name = format!("picoclaw-test-{}-{uid}-{namespaces:?}", std::process::id());
    let state = dir.path().join("state");
    let mut command = Command::new("timeout");
    command
        .args(["-k", "5", "100", "runc", "--root"])
        .arg(state)
        .args(["run", "-b"])
        .arg(dir.path())
        .arg(name);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

#[test]
fn in_a_default_container_the_first_use_is_confined_and_doctor_says_what_was_seen() {
    if !rustix::process::geteuid().is_root() || !is_here("runc") || !Path::new(PROFILE).exists() {
        picoclaw_testing::skip!("needs root, `runc` and the default profile of containers");
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        picoclaw_testing::skip!("the numbers of the calls are those of x86_64");
        return;
    }
    let control = in_container(0, Namespaces::Default, "cat ~/.netrc");
    if control.stdout != b"SECRET\n" {
        picoclaw_testing::skip!(
            "runc starts no container here: {}",
            String::from_utf8_lossy(&control.stderr)
        );
        return;
    }
    let script = r#"
        # A number that no process of a cage has.
        for i in $(seq 100); do (true); done
        VICTIM_SECRET=SECRET sleep 1000 & victim=$!
        kill -0 $victim && echo alive
        mkdir ~/project && cd ~/project
        /picoclaw run -- sh -c "cat $HOME/.netrc; echo ran" 2>/dev/null
        grep -q '"enabled": true' ~/.picoclaw/config.json && echo confined
        echo "cat $HOME/.netrc; cat $HOME/.picoclaw/config.json; kill -0 $victim && echo signalled; echo tried" > ~/.picoclaw/workspace/s.sh
        /picoclaw tool exec '{"command": "bash s.sh"}' 2>/dev/null
        /picoclaw doctor 2>/dev/null; echo "doctor exits with $?"
        /picoclaw run -- sh -c "cat /proc/$victim/environ; ls /proc/$victim/root/ && echo entered; (echo x > /proc/$victim/comm) && echo written; echo looked" 2>/dev/null
    "#;
    for (uid, namespaces) in [
        (1000, Namespaces::Default),
        (0, Namespaces::Default),
        (1000, Namespaces::Refused),
        (0, Namespaces::Refused),
    ] {
        let output = in_container(uid, namespaces, script);
        let text = String::from_utf8_lossy(&output.stdout);
        let about = format!("uid {uid}, {namespaces:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        for said in ["alive\n", "ran\n", "confined\n", "tried\n", "looked\n", "doctor exits with 0\n"] {
            assert!(text.contains(said), "`{said}` in {about}");
        }
        for leaked in ["SECRET", "\"isolation\"", "signalled", "entered", "written"] {
            assert!(!text.contains(leaked), "`{leaked}` in {about}");
        }
        assert!(!text.contains("broken"), "{about}");
        // Where namespaces can be made, the `/proc` of the container is shown: its own is masked, so none can be mounted.
        let level = if namespaces == Namespaces::Default { "native" } else { "Landlock" };
        assert!(text.contains(&format!("held by: {level}\n")), "{about}");
        // The container's own network is open to commands of the workspace, and was reached.
        let network = text.lines().find(|line| line.starts_with("can it reach the network?")).unwrap();
        assert!(network.contains("not promised yes"), "{about}");
    }
}
