# why: another process's namespaces cannot be entered
# held by: native bwrap
# needs: root tool:nsenter
nsenter -t "$HOST_PID" -m cat "$OUTSIDE/victim" && echo ESCAPED
