# why: the kernel's own state is not root's to read: kpageflags
# held by: native bwrap
# needs: root path:/proc/kpageflags
test "$(head -c 8 /proc/kpageflags | wc -c)" -gt 0 && echo ESCAPED
