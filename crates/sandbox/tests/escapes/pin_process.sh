# why: nor pinned
# held by: native bwrap
# needs: tool:taskset
taskset -p "$HOST_PID" && echo ESCAPED
