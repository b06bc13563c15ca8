# why: no mount namespace can be made
# held by: native bwrap landlock
# needs: root tool:unshare
unshare -m true && echo ESCAPED
