# why: picoclaw's own command line is not the child's to read
# held by: native
# `/proc` may number processes otherwise than `$PPID`.
while read -r key value; do [ "$key" != PPid: ] || parent=$value; done < /proc/self/status
tr "\0" " " < /proc/$parent/cmdline | grep -q "[a-z]" && echo ESCAPED
