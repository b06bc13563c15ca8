# why: the user namespace is its own
# rungs: native bwrap
test "$(readlink /proc/self/ns/user)" = "$NS_USER" && echo ESCAPED
