# why: the mnt namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/mnt)" = "$NS_MNT" && echo ESCAPED
