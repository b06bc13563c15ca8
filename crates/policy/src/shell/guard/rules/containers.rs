//! Containers: running something in one is running something outside the cage.
//!
//! Invariant: the verb is found behind the program's own options and its grouping words.

use super::{Rule, always};
use crate::shell::guard::options::{Grammar, NamedCommand, Order};

const ENGINE: Grammar = Grammar {
    short: "cHlfpn",
    long: &[
        "context",
        "host",
        "config",
        "log-level",
        "connection",
        "url",
        "namespace",
        "file",
        "project-name",
        "profile",
        "env-file",
        "project-directory",
        "tlscacert",
        "tlscert",
        "tlskey",
    ],
    order: Order::First,
};
const KUBE: Grammar = Grammar {
    short: "ns",
    long: &["namespace", "context", "kubeconfig", "cluster", "user", "server", "token", "as"],
    order: Order::First,
};

/// The words that say what an engine does, its grouping words gone through: `docker container run`.
fn verb<'c>(call: &NamedCommand<'c>, grammar: &Grammar) -> Option<&'c str> {
    let mut args = call.args;
    for _ in 0..3 {
        let words = NamedCommand { args, ..*call }.operands(grammar);
        let first = *words.first()?;
        if !matches!(first, "container" | "compose" | "stack" | "pod" | "buildx" | "image") {
            return Some(first);
        }
        let at = args.iter().position(|arg| arg.as_str() == first)?;
        args = &args[at + 1..];
    }
    None
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "container",
        why: "runs something in a container, beyond this one's rules",
        programs: &[
            "docker",
            "podman",
            "nerdctl",
            "docker-compose",
            "podman-compose",
            "buildah",
            "finch",
            "lima",
            "colima",
            "ctr",
            "crictl",
        ],
        when: |call| {
            matches!(verb(call, &ENGINE), Some("run" | "exec" | "create" | "attach"))
                || call.name == "ctr" && call.says(&["run", "exec", "attach"])
        },
        stops: &[
            "docker run x",
            "docker container exec x ls",
            "docker --context p run x",
            "docker compose run x",
            "podman run x",
        ],
        spares: &["docker ps", "docker build -t run .", "docker logs exec", "docker compose up -d"],
    },
    Rule {
        name: "container",
        why: "runs something in a container, beyond this one's rules",
        programs: &["kubectl", "oc", "k3s", "minikube", "microk8s"],
        when: |call| {
            matches!(verb(call, &KUBE), Some("exec" | "run" | "debug" | "attach" | "rsh" | "ssh"))
                || (matches!(call.name, "k3s" | "minikube" | "microk8s") && call.says(&["exec", "ssh"]))
        },
        stops: &["kubectl exec p -- ls", "kubectl -n x run y"],
        spares: &["kubectl get pods", "kubectl logs exec"],
    },
    Rule {
        name: "container",
        why: "runs something in a container or a virtual machine",
        programs: &[
            "lxc",
            "lxc-attach",
            "lxc-execute",
            "incus",
            "machinectl",
            "apptainer",
            "singularity",
            "toolbox",
            "distrobox",
            "multipass",
            "virsh",
        ],
        when: |call| {
            call.name.starts_with("lxc-")
                || call.says(&["exec", "launch", "shell", "run", "enter", "console", "login"])
        },
        stops: &["lxc exec c -- sh", "apptainer run x"],
        spares: &["lxc list"],
    },
    Rule {
        name: "container",
        why: "starts a virtual machine",
        programs: &["qemu-system-*", "runc", "crun"],
        when: always,
        stops: &["runc run x"],
        spares: &["qemu-img info x.img"],
    },
];
