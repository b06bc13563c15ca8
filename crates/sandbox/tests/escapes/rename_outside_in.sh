# why: nothing outside can be moved in
# rungs: native bwrap landlock fence
# judge: tree
mv "$OUTSIDE/spare" "m$$"
