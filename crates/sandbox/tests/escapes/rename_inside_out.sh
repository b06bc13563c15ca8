# why: nothing can be moved out
# held by: native bwrap landlock fence
# judge: tree
echo x > "o$$"; mv "o$$" "$OUTSIDE/o$$"
