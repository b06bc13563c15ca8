//! Containers: what runs in one runs outside the cage.

use super::{Rule, always};
use crate::shell::guard::options::{Grammar, NamedCommand};

const ENGINE: Grammar = Grammar::leading(
    "c H l f p n context host config log-level connection url namespace file project-name profile env-file \
     project-directory tlscacert tlscert tlskey",
);
const KUBE: Grammar = Grammar::leading("n s namespace context kubeconfig cluster user server token as");

/// The subcommand of a container engine, without grouping words: `docker container run`.
fn engine_subcommand<'c>(call: &NamedCommand<'c>, grammar: Grammar) -> Option<&'c str> {
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
        programs: "docker podman nerdctl docker-compose podman-compose buildah finch lima colima ctr crictl",
        when: |call| {
            matches!(engine_subcommand(call, ENGINE), Some("run" | "exec" | "create" | "attach"))
                || call.name == "ctr" && call.has_arg("run exec attach")
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
        programs: "kubectl oc k3s minikube microk8s",
        when: |call| {
            matches!(engine_subcommand(call, KUBE), Some("exec" | "run" | "debug" | "attach" | "rsh" | "ssh"))
                || (matches!(call.name, "k3s" | "minikube" | "microk8s") && call.has_arg("exec ssh"))
        },
        stops: &["kubectl exec p -- ls", "kubectl -n x run y"],
        spares: &["kubectl get pods", "kubectl logs exec"],
    },
    Rule {
        name: "container",
        why: "runs something in a container or a virtual machine",
        programs: "lxc lxc-attach lxc-execute incus machinectl apptainer singularity toolbox distrobox \
                   multipass virsh",
        when: |call| {
            call.name.starts_with("lxc-") || call.has_arg("exec launch shell run enter console login")
        },
        stops: &["lxc exec c -- sh", "apptainer run x"],
        spares: &["lxc list"],
    },
    Rule {
        name: "container",
        why: "starts a virtual machine",
        programs: "qemu-system-* runc crun",
        when: always,
        stops: &["runc run x"],
        spares: &["qemu-img info x.img"],
    },
];
