# why: the supervisor's memory is not readable
# held by: native
# needs: root
# `/proc` may number processes otherwise than `$PPID`.
while read -r key value; do [ "$key" != PPid: ] || parent=$value; done < /proc/self/status
head -c 1 /proc/$parent/mem >/dev/null; test -r /proc/$parent/maps && grep -q heap /proc/$parent/maps && echo ESCAPED
