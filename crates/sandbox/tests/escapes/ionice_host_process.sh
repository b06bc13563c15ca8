# why: nor starved of the disk
# held by: native bwrap landlock fence
# needs: tool:ionice
ionice -c 3 -p "$HOST_PID" && echo ESCAPED
