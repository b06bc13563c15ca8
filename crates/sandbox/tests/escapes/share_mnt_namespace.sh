# why: the mnt namespace is its own
# rungs: native bwrap
test "$(readlink /proc/self/ns/mnt)" = "$NS_MNT" && echo ESCAPED
