# why: nothing can be linked out
# held by: native bwrap landlock fence
# judge: tree
echo x > "k$$"; ln "k$$" "$OUTSIDE/k$$"
