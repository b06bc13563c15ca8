# why: no time outside can be changed
# rungs: native bwrap
# judge: tree
touch -c -d 2001-01-01 "$OUTSIDE/victim"
