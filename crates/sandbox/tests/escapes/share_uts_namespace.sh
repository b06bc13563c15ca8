# why: the uts namespace is its own
# rungs: native bwrap
test "$(readlink /proc/self/ns/uts)" = "$NS_UTS" && echo ESCAPED
