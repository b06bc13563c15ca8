# why: the host's interfaces are not visible
# rungs: native bwrap
# needs: interfaces
test "$(grep -c : /proc/net/dev)" -gt 1 && echo ESCAPED
