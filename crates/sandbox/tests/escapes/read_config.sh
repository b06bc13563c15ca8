# why: the configuration is not in the view (W64)
# held by: native bwrap landlock
cat "$ROOT/config.json" && echo ESCAPED
