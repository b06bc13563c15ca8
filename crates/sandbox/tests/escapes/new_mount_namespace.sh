# why: no mount namespace can be made
# rungs: native bwrap landlock
# needs: root tool:unshare
unshare -m true && echo ESCAPED
