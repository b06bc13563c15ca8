# why: another process's directory leads nowhere
# rungs: native bwrap landlock
cat "/proc/$HOST_PID/cwd/victim" && echo ESCAPED
