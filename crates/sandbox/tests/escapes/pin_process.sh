# why: nor pinned
# rungs: native bwrap
# needs: tool:taskset
taskset -p "$HOST_PID" && echo ESCAPED
