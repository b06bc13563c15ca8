# why: nothing outside can be written
# rungs: native bwrap landlock fence
# judge: tree
echo x > "$OUTSIDE/new$$"
