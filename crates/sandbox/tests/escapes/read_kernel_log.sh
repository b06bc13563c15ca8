# why: the kernel's log is not readable
# held by: native bwrap landlock
# needs: root tool:dmesg
dmesg >/dev/null 2>&1 && echo ESCAPED
