# why: no link can be made outside
# held by: native bwrap landlock fence
# judge: tree
ln -s x "$OUTSIDE/link$$"
