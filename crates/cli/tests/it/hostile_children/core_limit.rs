//! C14: a crash in the cage starts no program on the host.
//!
//! Where `core_pattern` begins with `|`, the kernel starts that program outside every namespace, as root, for any crash
//! on the machine. RLIMIT_CORE 0 does not prevent this (the limit is for files, and a pipe is none); 1 is the value at
//! which the kernel gives the dump up (`fs/coredump.c`). The hard limit has to be 1 too, and lowering it to 0 refused.

use super::{Bwrap, Faults, Landlock, Native, Project};

#[test]
fn no_core_handler_runs() {
    let mut faults = Faults::default();
    let script = "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))";
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], script, &[]);
        faults.check(told.stdout == "1 1\n", format!("{level:?}: {told:?}"));
    }
}

#[test]
fn the_core_limit_cannot_be_lowered() {
    let mut faults = Faults::default();
    // A pretended success is as good: programs lower it to be polite.
    let script = "import resource
for way in (lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)), lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 1))):
    try: way()
    except (OSError, ValueError): pass
print(*resource.getrlimit(resource.RLIMIT_CORE))";
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let told = project.python(&[], script, &[]);
        faults.check(told.stdout == "1 1\n", format!("{level:?}: {told:?}"));
    }
}

#[test]
fn a_crash_is_told_by_its_signal() {
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        assert_eq!(project.python(&[], "import os; os.abort()", &[]).code, 134, "{level:?}");
        let left = std::fs::read_dir(project.dir()).unwrap().count();
        assert_eq!(left, 0, "{level:?}: no core file either");
    }
}
