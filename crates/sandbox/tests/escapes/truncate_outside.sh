# why: nothing outside can be cut short
# held by: native bwrap landlock fence
# judge: tree
: > "$OUTSIDE/spare"
