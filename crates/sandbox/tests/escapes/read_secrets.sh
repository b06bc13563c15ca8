# why: the secrets file is not in the view (W64)
# held by: native bwrap landlock
cat "$ROOT/.security.yml" && echo ESCAPED
