//! Containers: what runs in one runs outside the cage.

use super::{Rule, always};
use crate::shell::guard::options::{Grammar, NamedCommand, parse};
use crate::shell::guard::partial_word::PartialWord;
use crate::shell::guard::programs::has_word;

const ENGINE: Grammar = Grammar::leading(
    "c H l f p n context host config log-level connection url namespace file project-name profile env-file \
     project-directory tlscacert tlscert tlskey ansi progress parallel",
);
const KUBE: Grammar = Grammar::leading("n s v namespace context kubeconfig cluster user server token as");

/// Whether the subcommand of a container engine is one of these, behind grouping words: `docker
/// container run`. Behind an unknown option with two dashes the first operand may be its value.
fn has_verb(call: &NamedCommand<'_>, grammar: Grammar, verbs: &str) -> bool {
    let mut args = call.args;
    for _ in 0..6 {
        let at = parse(args, grammar).1;
        let Some(first) = args.get(at).map(PartialWord::as_str) else { return false };
        if has_word(verbs, first) {
            return true;
        }
        let before = at.checked_sub(1).map_or("", |before| args[before].as_str());
        let is_value = before.starts_with("--") && !before.contains('=');
        if !is_value && !matches!(first, "container" | "compose" | "stack" | "pod" | "buildx" | "image") {
            return false;
        }
        args = &args[at + 1..];
    }
    false
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "container",
        why: "runs something in a container, beyond this one's rules",
        programs: "docker podman nerdctl docker-compose podman-compose buildah finch lima colima ctr crictl",
        when: |call| {
            has_verb(call, ENGINE, "run exec create attach")
                || call.name == "ctr" && call.has_arg("run exec attach")
        },
        stops: &[
            "docker run x",
            "docker container exec x ls",
            "docker --context p run x",
            "docker compose --ansi never run x",
            "podman --storage-driver vfs run x",
            "podman run x",
        ],
        spares: &["docker ps", "docker build -t run .", "docker logs exec", "docker compose up -d"],
    },
    Rule {
        name: "container",
        why: "runs something in a container, beyond this one's rules",
        programs: "kubectl oc k3s minikube microk8s",
        when: |call| {
            has_verb(call, KUBE, "exec run debug attach rsh ssh")
                || (matches!(call.name, "k3s" | "minikube" | "microk8s") && call.has_arg("exec ssh"))
        },
        stops: &["kubectl exec p -- ls", "kubectl -n x run y", "kubectl -v 5 exec p -- ls"],
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
