# why: nor made slower
# held by: native bwrap
# needs: tool:renice
renice -n 5 -p "$HOST_PID" && echo ESCAPED
