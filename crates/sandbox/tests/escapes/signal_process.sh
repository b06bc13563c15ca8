# why: no process outside can be signalled (W63)
# held by: native bwrap landlock fence
kill -CONT "$HOST_PID" && echo ESCAPED
