# why: no pipe can be made outside
# rungs: native bwrap landlock fence
# judge: tree
mkfifo "$OUTSIDE/fifo$$"
