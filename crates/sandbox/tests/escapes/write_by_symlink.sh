# why: a link to outside cannot be written through
# held by: native bwrap landlock fence
# judge: tree
ln -s "$OUTSIDE" "w$$"; echo x > "w$$/new"
