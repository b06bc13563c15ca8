# why: nothing can be moved out
# rungs: native bwrap landlock fence
# judge: tree
echo x > "o$$"; mv "o$$" "$OUTSIDE/o$$"
