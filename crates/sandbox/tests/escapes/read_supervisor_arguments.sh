# why: picoclaw's own command line is not the child's to read
# held by: native
tr "\0" " " < /proc/$PPID/cmdline | grep -q "[a-z]" && echo ESCAPED
