# why: the host's processes are not visible (W63)
# held by: native bwrap
tr "\0" " " < "/proc/$HOST_PID/cmdline" | grep -q sleep && echo ESCAPED
