# why: another agent's workspace cannot be written
# held by: native bwrap landlock fence
# judge: tree
echo x > "$ROOT/workspace-other/new$$"
