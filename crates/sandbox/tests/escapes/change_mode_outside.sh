# why: no mode outside can be changed
# held by: native bwrap
# judge: tree
chmod 777 "$OUTSIDE/victim"
