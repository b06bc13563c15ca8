# why: the real home and its keys are not in the view
# held by: native bwrap landlock
cat "$REAL_HOME/.ssh/id_rsa" && echo ESCAPED
