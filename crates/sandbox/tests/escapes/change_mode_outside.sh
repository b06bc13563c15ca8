# why: no mode outside can be changed
# rungs: native bwrap
# judge: tree
chmod 777 "$OUTSIDE/victim"
