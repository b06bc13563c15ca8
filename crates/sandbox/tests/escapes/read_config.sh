# why: the configuration is not in the view (W64)
# rungs: native bwrap landlock
cat "$ROOT/config.json" && echo ESCAPED
