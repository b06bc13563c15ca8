# why: another agent's workspace is not in the view
# held by: native bwrap landlock
cat "$ROOT/workspace-other/notes" && echo ESCAPED
