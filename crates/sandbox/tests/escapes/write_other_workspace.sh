# why: another agent's workspace cannot be written
# rungs: native bwrap landlock fence
# judge: tree
echo x > "$ROOT/workspace-other/new$$"
