# why: a kernel setting cannot be written, not even by uid 0
# held by: native bwrap landlock fence
# needs: root
v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern && echo ESCAPED
