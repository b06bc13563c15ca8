# why: a filter is installed
# held by: native bwrap landlock
grep -q "^Seccomp:[[:space:]]*0" /proc/self/status && echo ESCAPED
