# why: the kernel's own state is not root's to read: timer_list
# held by: native bwrap
# needs: root path:/proc/timer_list
test "$(head -c 8 /proc/timer_list | wc -c)" -gt 0 && echo ESCAPED
