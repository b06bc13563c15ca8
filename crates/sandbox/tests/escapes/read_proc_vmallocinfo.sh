# why: the kernel's own state is not root's to read: vmallocinfo
# held by: native bwrap
# needs: root path:/proc/vmallocinfo
test "$(head -c 8 /proc/vmallocinfo | wc -c)" -gt 0 && echo ESCAPED
