# why: the host's devices are not in the view
# held by: native bwrap
# needs: path:/sys/class/net
ls /sys/class/net | grep -q . && echo ESCAPED
