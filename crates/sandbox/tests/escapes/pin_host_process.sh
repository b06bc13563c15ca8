# why: nor pinned to a processor
# held by: native bwrap landlock fence
# needs: tool:taskset
taskset -c -p 0 "$HOST_PID" && echo ESCAPED
