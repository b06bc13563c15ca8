# why: no process of the host is made slower
# held by: native bwrap landlock fence
# needs: tool:renice
renice -n 5 -p "$HOST_PID" && echo ESCAPED
