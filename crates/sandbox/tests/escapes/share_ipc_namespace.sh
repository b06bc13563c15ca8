# why: the ipc namespace is its own
# rungs: native bwrap
test "$(readlink /proc/self/ns/ipc)" = "$NS_IPC" && echo ESCAPED
