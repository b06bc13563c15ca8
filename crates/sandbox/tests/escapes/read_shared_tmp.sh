# why: the host's temporary directory is another one
# held by: native bwrap landlock
cat "$TMP_VICTIM" && echo ESCAPED
