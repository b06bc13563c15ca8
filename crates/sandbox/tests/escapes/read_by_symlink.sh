# why: a link is followed inside the cage, where its end does not exist
# held by: native bwrap landlock
ln -s "$OUTSIDE/victim" "l$$"; cat "l$$" && echo ESCAPED
