# why: the root cannot be changed
# rungs: native bwrap landlock
# needs: root tool:chroot
chroot / true && echo ESCAPED
