# why: another agent's workspace is not in the view
# rungs: native bwrap landlock
cat "$ROOT/workspace-other/notes" && echo ESCAPED
