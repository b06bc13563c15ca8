# why: another process's environment is not readable (W62)
# held by: native bwrap landlock
tr "\0" "\n" < "/proc/$HOST_PID/environ" | grep -q VICTIM_SECRET && echo ESCAPED
