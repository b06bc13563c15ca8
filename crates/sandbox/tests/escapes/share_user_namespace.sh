# why: the user namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/user)" = "$NS_USER" && echo ESCAPED
