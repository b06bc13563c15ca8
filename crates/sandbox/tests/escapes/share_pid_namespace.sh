# why: the pid namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/pid)" = "$NS_PID" && echo ESCAPED
