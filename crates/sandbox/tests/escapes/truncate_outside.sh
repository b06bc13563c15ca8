# why: nothing outside can be cut short
# rungs: native bwrap landlock fence
# judge: tree
: > "$OUTSIDE/spare"
