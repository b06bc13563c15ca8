# why: another process's memory map is not readable
# held by: native bwrap landlock
grep -q sleep "/proc/$HOST_PID/maps" && echo ESCAPED
