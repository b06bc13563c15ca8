"""Takes memory of one kind: `memory.py KIND MIB [SECONDS]`. Holds it and says HELD; says REFUSED where the kernel did not give it."""
import array, atexit, ctypes, mmap, os, socket, sys, threading, time
kind, most, seconds = sys.argv[1], int(sys.argv[2]) << 20, float((sys.argv + ["3"])[3])
step = 8 << 20
block = b"\1" * step
held = []
libc = ctypes.CDLL(None, use_errno=True)


def checked(answer):
    if answer == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def fill(fd):
    for _ in range(0, most, step):
        os.write(fd, block) == step or sys.exit("REFUSED: a short write")


def private():
    for _ in range(0, most, step):
        held.append(mmap.mmap(-1, step, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        held[-1].write(block)


def without_first_thread(take):
    """The first thread ends, and `/proc/PID` shows neither memory nor descriptors any more."""
    def rest():
        take()
        time.sleep(seconds)
        print("HELD", flush=True)
        os._exit(0)

    threading.Thread(target=rest).start()
    libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)


def private_under_another_name():
    """A name that is not UTF-8, which `/proc/PID/status` shows."""
    import ctypes
    ctypes.CDLL(None).prctl(15, b"\xff\xfe", 0, 0, 0)
    private()


def private_without_first_thread():
    without_first_thread(private)


def memfd_without_first_thread():
    without_first_thread(memfd)


def shared():
    for _ in range(0, most, step):
        held.append(mmap.mmap(-1, step))
        held[-1].write(block)


def shared_by_dead_child():
    held.append(mmap.mmap(-1, most))
    child = os.fork()
    if child == 0:
        for _ in range(0, most, step):
            held[0].write(block)
        os._exit(0)
    os.waitpid(child, 0)[1] == 0 or sys.exit("REFUSED: the child died")


def tree():
    for _ in range(0, most, 4 * step):
        if os.fork() == 0:
            own = [b"\1" * step + bytes([n]) for n in range(4)]
            time.sleep(seconds + 2)
            os._exit(len(own))


def memfd():
    held.append(os.memfd_create("m"))
    fill(held[-1])


def memfd_mapped():
    fd = os.memfd_create("m")
    os.ftruncate(fd, most)
    held.append(mmap.mmap(fd, most))
    os.close(fd)
    for _ in range(0, most, step):
        held[-1].write(block)


def memfd_in_flight():
    held.extend(socket.socketpair())
    fd = os.memfd_create("m")
    fill(fd)
    rights = array.array("i", [fd])
    held[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    os.close(fd)


def system_v():
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(0, most, 4 * step):
        key = checked(libc.shmget(0, 4 * step, 0o1600))
        at = libc.shmat(key, None, 0)
        libc.shmctl(key, 0, None)
        ctypes.memset(at, 1, 4 * step)


def system_v_detached():
    """Nothing has it mapped; it goes when the program ends, unless that is killed."""
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(0, most, 4 * step):
        key = checked(libc.shmget(0, 4 * step, 0o1600))
        atexit.register(libc.shmctl, key, 0, None)
        at = libc.shmat(key, None, 0)
        ctypes.memset(at, 1, 4 * step)
        libc.shmdt(ctypes.c_void_p(at))


def file_in(place):
    path = f"{place}/fill-{os.getpid()}"
    held.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)
    fill(held[-1])


def tmp():
    file_in("/tmp")


def dev_shm():
    file_in("/dev/shm")


def any_tmpfs():
    """Every tmpfs of this view, with the directories that can be made in it; one is enough."""
    refused = "no tmpfs"
    for line in open("/proc/self/mounts"):
        _, place, system, *_ = line.split()
        if system == "tmpfs" and place not in ("/tmp", "/dev/shm"):
            try:
                file_in(place)
                return
            except OSError as why:
                refused = why
    sys.exit(f"REFUSED: {refused}")


def mixed():
    """A part of each; no single one is over the limit."""
    global most
    most //= 5
    for part in (private, shared, memfd, memfd_mapped, tmp):
        part()


def sockets():
    for _ in range(0, most, 200 << 10):
        try:
            pair = socket.socketpair()
        except OSError:
            break
        pair[0].setblocking(False)
        held.append(pair)
        try:
            while True:
                pair[0].send(block[: 100 << 10])
        except BlockingIOError:
            pass


try:
    globals()[kind]()
except (OSError, MemoryError) as why:
    sys.exit(f"REFUSED: {why!r}")
time.sleep(seconds)
print("HELD")
