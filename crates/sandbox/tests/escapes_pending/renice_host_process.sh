# why: no process of the host is made slower
# rungs: native bwrap landlock
# needs: tool:renice
renice -n 5 -p "$HOST_PID" && echo ESCAPED
