# why: nothing can be linked out
# rungs: native bwrap landlock fence
# judge: tree
echo x > "k$$"; ln "k$$" "$OUTSIDE/k$$"
