# why: no time outside can be changed
# held by: native bwrap
# judge: tree
touch -c -d 2001-01-01 "$OUTSIDE/victim"
