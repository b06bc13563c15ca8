# why: the host's temporary directory is another one
# rungs: native bwrap landlock
cat "$TMP_VICTIM" && echo ESCAPED
