"""Tries to slow a process down: `priority.py PID UID` (0 is this one, -1 its parent). Says what each call came to.
UID is whose processes to slow down together: 0 its own, which reaches the whole host where there is no namespace."""
import ctypes, errno, os, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
number = {"x86_64": (251, 314), "aarch64": (30, 274)}[os.uname().machine]
pid, uid = int(sys.argv[1]), int(sys.argv[2])
pid = os.getppid() if pid < 0 else pid


def tell(name, call):
    ctypes.set_errno(0)
    try:
        done = call() in (0, None)
        why = ctypes.get_errno()
    except OSError as error:
        done, why = False, error.errno
    print(name, "done" if done else errno.errorcode[why])


def attributes(policy):
    return struct.pack("IIQiIQQQII", 56, policy, 0, 19, 0, 0, 0, 0, 0, 0)


cpu = min(os.sched_getaffinity(0))
# A group that is not in this namespace cannot be named.
group = os.getpgid(pid) or pid
tell("sched_setaffinity", lambda: os.sched_setaffinity(pid, {cpu}))
tell("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
tell("setpriority_group", lambda: os.setpriority(os.PRIO_PGRP, group, 19))
tell("setpriority_user", lambda: os.setpriority(os.PRIO_USER, uid, 19))
tell("ioprio_set", lambda: libc.syscall(number[0], 1, pid, 3 << 13))
tell("ioprio_set_group", lambda: libc.syscall(number[0], 2, group, 3 << 13))
tell("ioprio_set_user", lambda: libc.syscall(number[0], 3, uid or os.getuid(), 3 << 13))
tell("sched_setattr", lambda: libc.syscall(number[1], pid, attributes(3), 0))
tell("sched_setscheduler", lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)))
tell("sched_setparam", lambda: os.sched_setparam(pid, os.sched_param(0)))
if pid == 0:
    # What `pthread_setaffinity_np` and its like do: the number of a thread.
    own = threading.get_native_id()
    this, mask = ctypes.c_ulong(threading.get_ident()), struct.pack("Q", 1 << cpu)
    tell("own_thread_affinity", lambda: libc.pthread_setaffinity_np(this, 8, mask))
    tell("own_thread_priority", lambda: os.setpriority(os.PRIO_PROCESS, own, 19))
    tell("own_thread_policy", lambda: os.sched_setscheduler(own, os.SCHED_IDLE, os.sched_param(0)))
    worker = threading.Event()
    other = threading.Thread(target=worker.wait)
    other.start()
    tell("other_thread_affinity", lambda: os.sched_setaffinity(other.native_id, {cpu}))
    worker.set()
