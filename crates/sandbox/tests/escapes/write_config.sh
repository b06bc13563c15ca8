# why: the configuration cannot be written
# held by: native bwrap landlock fence
# judge: tree
echo "{}" > "$ROOT/config.json"
