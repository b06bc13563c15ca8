# why: no pipe can be made outside
# held by: native bwrap landlock fence
# judge: tree
mkfifo "$OUTSIDE/fifo$$"
