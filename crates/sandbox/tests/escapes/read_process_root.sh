# why: another process's root leads nowhere
# rungs: native bwrap landlock
cat "/proc/$HOST_PID/root$OUTSIDE/victim" && echo ESCAPED
