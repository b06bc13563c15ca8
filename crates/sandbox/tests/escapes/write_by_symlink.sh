# why: a link to outside cannot be written through
# rungs: native bwrap landlock fence
# judge: tree
ln -s "$OUTSIDE" "w$$"; echo x > "w$$/new"
