# why: the kernel's own state is not root's to read: slabinfo
# held by: native bwrap
# needs: root path:/proc/slabinfo
test "$(head -c 8 /proc/slabinfo | wc -c)" -gt 0 && echo ESCAPED
