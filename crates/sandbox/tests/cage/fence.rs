//! Work behind the fence goes on as before, as long as it stays where it belongs.

use crate::support::instance;
use picoclaw_sandbox::isolate::{Confinement, Fence, Grade};
use picoclaw_sandbox::launch::run_to_end;
use std::path::PathBuf;
use std::sync::Arc;

#[test]
fn work_inside_the_fence_goes_on() {
    let place = instance();
    let fence = Fence::new(
        &[place.workspace.clone(), place.user().path().to_owned()],
        std::slice::from_ref(&place.root),
    );
    if matches!(fence.enforced().filesystem, Grade::None(_)) {
        picoclaw_testing::skip!("this kernel has no Landlock");
        return;
    }
    place.user().prepare().expect("directories");
    let confinement = Confinement::Fence(Arc::new(fence));
    for (why, line, want) in [
        ("writing", "echo x > f && cat f", "x\n"),
        ("moving between directories", "mkdir -p a b && echo y > a/f && mv a/f b/f && cat b/f", "y\n"),
        ("linking", "ln f h 2>/dev/null || echo z > f; ln -sf f s && test -L s && echo ok", "ok\n"),
        ("deleting", "rm -r a b && ls -d a b 2>/dev/null; echo gone", "gone\n"),
        ("throwing away", "echo x > /dev/null && echo ok", "ok\n"),
        ("a temporary file", "t=$(mktemp) && echo x > \"$t\" && cat \"$t\" && rm \"$t\"", "x\n"),
        ("reading outside is the guard's to judge", "test -r /etc/passwd && echo ok", "ok\n"),
        ("its own children can be signalled", "sleep 100 & kill $! && wait; echo ok", "ok\n"),
        ("a pipeline", "seq 3 | sort -r | head -1", "3\n"),
    ] {
        let finished = run_to_end(place.spec(line, confinement.clone())).expect(why);
        assert_eq!(finished.stdout.to_text(), want, "{why}: {}", finished.stderr.to_text());
    }
}

#[test]
fn a_writable_place_that_holds_something_protected_is_left_out() {
    let place = instance();
    let fence = Fence::new(&[place.workspace.clone(), place.base.clone()], std::slice::from_ref(&place.root));
    assert_eq!(fence.left_out(), std::slice::from_ref(&place.base));
    let confinement = Confinement::Fence(Arc::new(fence));
    let config = place.root.join("config.json");
    let line = format!("echo x > {}", config.display());
    run_to_end(place.spec(&line, confinement)).expect("a shell starts");
    assert_eq!(std::fs::read_to_string(config).expect("it is there"), "CONFIG-SECRET");
}

#[test]
fn a_fence_says_what_it_does_not_hold() {
    let enforced = Fence::new(&[PathBuf::from("/tmp")], &[]).enforced();
    for (_, layer, grade) in enforced.layers() {
        // Its system call filter is that of a cage.
        assert_eq!(*grade == Grade::Full, layer == "syscalls", "{layer}: a fence is no cage");
    }
    assert!(enforced.to_string().contains("reads"), "{enforced}");
}
