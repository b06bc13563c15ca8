# why: no link can be made outside
# rungs: native bwrap landlock fence
# judge: tree
ln -s x "$OUTSIDE/link$$"
