# why: no capability can come back
# held by: native bwrap landlock
# needs: root
grep "^CapBnd:" /proc/self/status | grep -qv "0000000000000000" && echo ESCAPED
