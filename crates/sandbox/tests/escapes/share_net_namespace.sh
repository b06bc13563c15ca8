# why: with `network: none` the network is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/net)" = "$NS_NET" && echo ESCAPED
