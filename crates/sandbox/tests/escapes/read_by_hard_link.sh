# why: what is not in the view cannot be linked
# held by: native bwrap landlock
ln "$OUTSIDE/victim" "h$$"; cat "h$$" && echo ESCAPED
