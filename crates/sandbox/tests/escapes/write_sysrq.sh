# why: the emergency switch cannot be pressed
# held by: native bwrap landlock fence
# needs: root path:/proc/sysrq-trigger
echo h > /proc/sysrq-trigger && echo ESCAPED
