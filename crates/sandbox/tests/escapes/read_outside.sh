# why: a file outside is not in the view
# held by: native bwrap landlock
cat "$OUTSIDE/victim" && echo ESCAPED
