# why: nothing outside can be deleted
# held by: native bwrap landlock fence
# judge: tree
rm -f "$OUTSIDE/spare"
