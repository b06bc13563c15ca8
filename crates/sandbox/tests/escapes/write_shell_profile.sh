# why: a start-up file of the real home cannot be written
# held by: native bwrap landlock fence
# judge: tree
echo x >> "$REAL_HOME/.bashrc"
