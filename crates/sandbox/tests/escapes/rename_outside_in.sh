# why: nothing outside can be moved in
# held by: native bwrap landlock fence
# judge: tree
mv "$OUTSIDE/spare" "m$$"
