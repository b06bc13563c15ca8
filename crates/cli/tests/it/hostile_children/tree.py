"""A tree that does not want to end: `tree.py KIND COUNT MARK`. Never more than COUNT processes, and none after 50 s."""
import os, signal, sys, time
kind, count, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + 50
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT}:
    signal.signal(number, signal.SIG_IGN)
# Closed when all are there, so that nobody keeps the others from starting.
gate, opens = os.pipe()
# A process is a byte of this pipe: taken to fork, given back at its end.
places, back = os.pipe()
os.set_blocking(places, False)
os.write(back, b"x" * (count - 1))


def busy():
    while time.monotonic() < end:
        pass
    os._exit(0)


def wide():
    for _ in range(count - 1):
        try:
            if os.fork() == 0:
                os.close(opens)
                os.read(gate, 1)
                kind == "sessions" and os.setsid()
                kind == "stopped" and os.kill(os.getpid(), signal.SIGSTOP)
                busy()
        except OSError:
            break
    open("up", "w")
    os.close(opens)
    busy()


def forking():
    """Each forks as fast as it can; where there is no place left, most of them go and their children take over."""
    first = os.getpid()
    while time.monotonic() < end:
        try:
            if os.read(places, 1) and os.fork() == 0 and os.getpid() % 3 == 0:
                os.setsid()
        except BlockingIOError:
            os.path.exists("up") or open("up", "w")
            if os.getpid() != first:
                os.write(back, b"x")
                os._exit(0)
        except OSError:
            os.write(back, b"x")


forking() if kind == "forking" else wide()
