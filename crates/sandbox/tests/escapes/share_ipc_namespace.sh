# why: the ipc namespace is its own
# held by: native bwrap
test "$(readlink /proc/self/ns/ipc)" = "$NS_IPC" && echo ESCAPED
