# why: nor asked whether it is there
# rungs: native bwrap landlock fence
kill -0 "$HOST_PID" && echo ESCAPED
