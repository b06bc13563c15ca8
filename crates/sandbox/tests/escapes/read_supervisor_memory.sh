# why: the supervisor's memory is not readable
# rungs: native
# needs: root
head -c 1 /proc/$PPID/mem >/dev/null; test -r /proc/$PPID/maps && grep -q heap /proc/$PPID/maps && echo ESCAPED
