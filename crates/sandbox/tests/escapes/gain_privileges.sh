# why: no program gains privileges by being executed
# held by: native bwrap landlock fence
grep -q "^NoNewPrivs:[[:space:]]*0" /proc/self/status && echo ESCAPED
