# why: the supervisor's environment is not readable
# held by: native
# needs: root
# `/proc` may number processes otherwise than `$PPID`.
while read -r key value; do [ "$key" != PPid: ] || parent=$value; done < /proc/self/status
for p in $parent 1; do tr "\0" "\n" < "/proc/$p/environ"; done | grep -q . && echo ESCAPED
