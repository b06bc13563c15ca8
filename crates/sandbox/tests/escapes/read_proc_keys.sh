# why: the kernel's own state is not root's to read: keys
# held by: native bwrap
# needs: root path:/proc/keys
test "$(head -c 8 /proc/keys | wc -c)" -gt 0 && echo ESCAPED
