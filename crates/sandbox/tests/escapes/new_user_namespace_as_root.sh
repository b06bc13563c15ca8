# why: nor one in which to be root
# rungs: native bwrap landlock
# needs: tool:unshare userns
unshare -Urm sh -c "mount -t tmpfs x /tmp" && echo ESCAPED
