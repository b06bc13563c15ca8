# why: no directory can be made outside
# held by: native bwrap landlock fence
# judge: tree
mkdir "$OUTSIDE/dir$$"
