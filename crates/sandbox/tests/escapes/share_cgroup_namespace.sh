# why: the cgroup namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/cgroup)" = "$NS_CGROUP" && echo ESCAPED
