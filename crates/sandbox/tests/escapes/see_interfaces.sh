# why: the host's interfaces are not visible
# held by: native bwrap
# needs: interfaces
test "$(grep -c : /proc/net/dev)" -gt 1 && echo ESCAPED
