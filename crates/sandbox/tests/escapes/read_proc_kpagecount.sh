# why: the kernel's own state is not root's to read: kpagecount
# held by: native bwrap
# needs: root path:/proc/kpagecount
test "$(head -c 8 /proc/kpagecount | wc -c)" -gt 0 && echo ESCAPED
