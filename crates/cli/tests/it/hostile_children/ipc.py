"""System V and POSIX IPC of other programs: `ipc.py SEGMENT QUEUE`. Says REACHED and MADE for what it could do."""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
segment, queue = int(sys.argv[1]), sys.argv[2].encode()

at = libc.shmat(segment, None, 0o10000)
if at != ctypes.c_void_p(-1).value and ctypes.string_at(at, 4) == b"MARK":
    print("REACHED a segment")
if libc.mq_open(queue, os.O_RDONLY) >= 0:
    print("REACHED a queue")
made = [
    ("a segment", libc.shmget, (0, 4096, 0o600), lambda number: libc.shmctl(number, 0, None)),
    ("semaphores", libc.semget, (0, 1, 0o600), lambda number: libc.semctl(number, 0, 0)),
    ("messages", libc.msgget, (0, 0o600), lambda number: libc.msgctl(number, 0, None)),
    ("a queue", libc.mq_open, (queue + b"2", os.O_CREAT | os.O_RDWR, 0o600, None), lambda _: libc.mq_unlink(queue + b"2")),
]
for name, make, words, remove in made:
    number = make(*words)
    if number >= 0:
        print("MADE", name)
        remove(number)
