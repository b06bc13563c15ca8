# why: climbing does not help
# rungs: native bwrap landlock fence
# judge: tree
echo "{}" >> ../config.json; test -e "$ROOT/x"
