# why: the uts namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/uts)" = "$NS_UTS" && echo ESCAPED
