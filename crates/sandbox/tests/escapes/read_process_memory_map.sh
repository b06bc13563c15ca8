# why: another process's memory map is not readable
# rungs: native bwrap landlock
grep -q sleep "/proc/$HOST_PID/maps" && echo ESCAPED
