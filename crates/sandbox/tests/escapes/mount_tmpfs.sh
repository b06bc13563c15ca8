# why: nothing can be mounted
# held by: native bwrap landlock
# needs: root tool:unshare
unshare -m sh -c "mount -t tmpfs x /mnt" && echo ESCAPED
