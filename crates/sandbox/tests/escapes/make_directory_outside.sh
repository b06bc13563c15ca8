# why: no directory can be made outside
# rungs: native bwrap landlock fence
# judge: tree
mkdir "$OUTSIDE/dir$$"
