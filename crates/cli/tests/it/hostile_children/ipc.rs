//! System V and POSIX IPC objects of other programs are out of reach: by an IPC namespace of the cage, or, where
//! there is none, because the calls are missing.

use super::{Bwrap, Faults, Landlock, Native, Project, outside};
use std::process::Command;

const TRY: &str = include_str!("ipc.py");

/// Makes a segment with `MARK` in it and a queue of this name, and says the number of the segment.
const MAKE: &str = "import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(0, 4096, 0o1600)
ctypes.memmove(libc.shmat(number, None, 0), b'MARK', 4)
assert libc.mq_open(sys.argv[1].encode(), os.O_CREAT | os.O_RDWR, 0o600, None) >= 0
print(number)";

const REMOVE: &str = "import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmctl(int(sys.argv[1]), 0, None)
libc.mq_unlink(sys.argv[2].encode())";

/// A System V segment and a POSIX message queue of the host.
pub(crate) struct Segment {
    id: i32,
    queue: String,
}

impl Segment {
    pub(crate) fn new() -> Self {
        let queue = format!("/{}", super::marker());
        let made = Command::new("python3").args(["-c", MAKE, &queue]).output().unwrap();
        let id = String::from_utf8(made.stdout).unwrap().trim().parse();
        Self {
            id: id.unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&made.stderr))),
            queue,
        }
    }

    pub(crate) fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let _ = Command::new("python3").args(["-c", REMOVE, &self.id.to_string(), &self.queue]).status();
    }
}

#[test]
fn ipc_objects_of_the_host_are_out_of_reach() {
    let segment = Segment::new();
    let id = segment.id().to_string();
    let mut faults = Faults::default();
    for level in [Native, Bwrap, Landlock] {
        let Some(project) = Project::new(level) else { continue };
        let control = outside(&project.dir(), &["python3", "-c", TRY, &id, &segment.queue]);
        let all = "REACHED a segment\nREACHED a queue\nMADE a segment\nMADE semaphores\nMADE messages\nMADE a queue\n";
        assert_eq!(control.stdout, all, "the control: {control:?}");
        let told = project.python(&[], TRY, &[&id, &segment.queue]);
        faults.check(told.code == 0 && !told.stdout.contains("REACHED"), format!("{level:?}: {told:?}"));
        // What is made without an IPC namespace stays on the host when its maker is killed.
        let makes = told.stdout.contains("MADE");
        faults.check(makes == (level != Landlock), format!("{level:?}: {told:?}"));
    }
}
