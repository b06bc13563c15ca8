# why: no namespace can be made, so no capability can be had
# held by: native bwrap landlock
# needs: tool:unshare userns
unshare -U true && echo ESCAPED
