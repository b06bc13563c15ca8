# why: nothing outside can be deleted
# rungs: native bwrap landlock fence
# judge: tree
rm -f "$OUTSIDE/spare"
