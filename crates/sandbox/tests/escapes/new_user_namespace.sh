# why: no namespace can be made, so no capability can be had
# rungs: native bwrap landlock
# needs: tool:unshare userns
unshare -U true && echo ESCAPED
