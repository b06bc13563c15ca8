# why: no disk is in the view
# held by: native bwrap landlock
# needs: root disk
head -c 1 "$DISK" >/dev/null && echo ESCAPED
