# why: the kernel's own devices are not in the view
# held by: native bwrap landlock
# needs: root path:/dev/kmsg
(: < /dev/kmsg) && echo ESCAPED
