# why: a filter is installed
# rungs: native bwrap landlock
grep -q "^Seccomp:[[:space:]]*0" /proc/self/status && echo ESCAPED
