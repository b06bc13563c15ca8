# why: the root cannot be changed
# held by: native bwrap landlock
# needs: root tool:chroot
chroot / true && echo ESCAPED
