# why: no device can be made
# held by: native bwrap landlock fence
# needs: root
mknod "n$$" c 1 5 && head -c 1 "n$$" >/dev/null && echo ESCAPED
