# why: the supervisor's memory is not readable
# held by: native
# needs: root
head -c 1 /proc/$PPID/mem >/dev/null; test -r /proc/$PPID/maps && grep -q heap /proc/$PPID/maps && echo ESCAPED
