# why: the pid namespace is its own
# rungs: native bwrap
test "$(readlink /proc/self/ns/pid)" = "$NS_PID" && echo ESCAPED
