# why: the same through a directory
# held by: native bwrap landlock
ln -s "$OUTSIDE" "d$$"; cat "d$$/victim" && echo ESCAPED
