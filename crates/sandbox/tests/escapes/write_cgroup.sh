# why: no control group can be made
# held by: native bwrap landlock fence
# needs: root path:/sys/fs/cgroup
d=$(ls -d /sys/fs/cgroup/unified /sys/fs/cgroup 2>/dev/null | head -1)/picoclaw-escape-$$; mkdir "$d" && rmdir "$d" && echo ESCAPED
