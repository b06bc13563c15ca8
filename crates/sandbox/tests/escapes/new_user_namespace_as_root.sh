# why: nor one in which to be root
# held by: native bwrap landlock
# needs: tool:unshare userns
unshare -Urm sh -c "mount -t tmpfs x /tmp" && echo ESCAPED
