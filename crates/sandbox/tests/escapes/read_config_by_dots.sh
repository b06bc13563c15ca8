# why: climbing from the workspace meets an empty directory (W64)
# held by: native bwrap landlock
cat ../config.json && echo ESCAPED
