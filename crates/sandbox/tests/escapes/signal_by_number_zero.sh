# why: nor asked whether it is there
# held by: native bwrap landlock fence
kill -0 "$HOST_PID" && echo ESCAPED
