# why: the configuration cannot be written
# rungs: native bwrap landlock fence
# judge: tree
echo "{}" > "$ROOT/config.json"
