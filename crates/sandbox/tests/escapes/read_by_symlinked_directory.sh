# why: the same through a directory
# rungs: native bwrap landlock
ln -s "$OUTSIDE" "d$$"; cat "d$$/victim" && echo ESCAPED
