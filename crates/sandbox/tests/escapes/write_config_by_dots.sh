# why: climbing does not help
# held by: native bwrap landlock fence
# judge: tree
echo "{}" >> ../config.json; test -e "$ROOT/x"
