# why: the supervisor's environment is not readable
# held by: native
# needs: root
for p in $PPID 1; do tr "\0" "\n" < "/proc/$p/environ"; done | grep -q . && echo ESCAPED
