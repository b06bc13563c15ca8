"""A host that can be killed: it starts a server with pipes of its own, and passes lines on in both directions."""
import subprocess
import sys
import threading

child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def feed():
    for line in sys.stdin.buffer:
        child.stdin.write(line)
        child.stdin.flush()
    child.stdin.close()


threading.Thread(target=feed, daemon=True).start()
for line in child.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
sys.exit(child.wait())
