# why: nor made slower
# rungs: native bwrap
# needs: tool:renice
renice -n 5 -p "$HOST_PID" && echo ESCAPED
