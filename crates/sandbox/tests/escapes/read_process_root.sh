# why: another process's root leads nowhere
# held by: native bwrap landlock
cat "/proc/$HOST_PID/root$OUTSIDE/victim" && echo ESCAPED
