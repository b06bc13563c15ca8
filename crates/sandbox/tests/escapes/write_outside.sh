# why: nothing outside can be written
# held by: native bwrap landlock fence
# judge: tree
echo x > "$OUTSIDE/new$$"
