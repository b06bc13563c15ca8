"""`set_id.py try MODE` makes one file with these mode bits by each call that can; `set_id.py found MODE` lists what is left."""
import ctypes, mmap, os, stat, struct, sys
what, mode = sys.argv[1], int(sys.argv[2], 8)
place = "made"
if what == "found":
    for name in sorted(os.listdir(place)):
        path, found = f"{place}/{name}", os.lstat(f"{place}/{name}").st_mode
        special = stat.S_ISBLK(found) or stat.S_ISCHR(found)
        if found & mode & 0o6000 or special or "security.capability" in os.listxattr(path, follow_symlinks=False):
            print(name)
    sys.exit()

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
os.makedirs(place, exist_ok=True)
os.umask(0)


def raw(number, *words):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(w) if isinstance(w, int) else w for w in words])


def plain(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755))
    return path


def opened(path):
    return os.open(plain(path), os.O_RDWR)


def in_32_bits(path):
    """chmod by the 32-bit entry of the kernel."""
    os.uname().machine == "x86_64" or sys.exit()
    area = mmap.mmap(-1, 8192, 0x62, 7)
    at = ctypes.addressof(ctypes.c_char.from_buffer(area))
    code = b"\x53\xb8\x0f\0\0\0\xbb" + struct.pack("<I", at + 4096) + b"\xb9" + struct.pack("<I", mode) + b"\xcd\x80\x5b\xc3"
    area[: len(code)], area[4096 : 4097 + len(path)] = code, path.encode() + b"\0"
    ctypes.CFUNCTYPE(ctypes.c_int)(at)()


def unnamed(path):
    fd = os.open(place, os.O_TMPFILE | os.O_RDWR, mode)
    libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, path.encode(), 0x400)


def how(flags):
    return struct.pack("QQQ", flags, mode, 0)


attempts = {
    "chmod": lambda path: os.chmod(plain(path), mode),
    "chmod_by_proc": lambda path: os.chmod(f"/proc/self/fd/{opened(path)}", mode),
    "chmod_in_32_bits": lambda path: in_32_bits(plain(path)),
    "chmod_of_directory": lambda path: (os.mkdir(path), os.chmod(path, mode)),
    "fchmod": lambda path: os.fchmod(opened(path), mode),
    "fchmodat": lambda path: libc.fchmodat(-100, plain(path).encode(), mode, 0),
    "fchmodat2": lambda path: raw(452, -100, plain(path).encode(), mode, 0),
    "fchmodat2_empty": lambda path: raw(452, opened(path), b"", mode, 0x1000),
    "open": lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, mode),
    "open_exclusive": lambda path: os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode),
    "openat": lambda path: os.open(os.path.basename(path), os.O_CREAT | os.O_WRONLY, mode, dir_fd=os.open(place, 0)),
    "openat2": lambda path: raw(437, -100, path.encode(), how(os.O_CREAT | os.O_WRONLY), 24),
    "creat": lambda path: libc.creat(path.encode(), mode),
    "mknod": lambda path: os.mknod(path, stat.S_IFREG | mode),
    "mknodat": lambda path: os.mknod(os.path.basename(path), stat.S_IFREG | mode, dir_fd=os.open(place, 0)),
    "mkfifo": lambda path: os.mknod(path, stat.S_IFIFO | mode),
    "mkdir": lambda path: os.mkdir(path, mode),
    "unnamed": unnamed,
    "setxattr": lambda path: os.setxattr(plain(path), "security.capability", capability),
    "fsetxattr": lambda path: os.setxattr(opened(path), "security.capability", capability),
    "character_device": lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5)),
    "block_device": lambda path: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0)),
}
for name, attempt in attempts.items():
    child = os.fork()
    if child == 0:
        try:
            attempt(f"{place}/{name}")
        except OSError:
            pass
        os._exit(0)
    os.waitpid(child, 0)
