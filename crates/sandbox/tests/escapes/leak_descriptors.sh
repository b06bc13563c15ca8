# why: no descriptor but the standard ones is open
# held by: native bwrap landlock fence
# needs: leak
for n in 4 5 6 7 8 9 10; do test -e /proc/self/fd/$n && echo ESCAPED; done; exec 2>/dev/null; test -e "/proc/self/fd/$LEAKED" && echo ESCAPED
