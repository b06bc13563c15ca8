# why: nor given another scheduler
# held by: native bwrap landlock fence
# needs: tool:chrt
chrt -b -p 0 "$HOST_PID" && echo ESCAPED
