# why: a file outside is not in the view
# rungs: native bwrap landlock
cat "$OUTSIDE/victim" && echo ESCAPED
