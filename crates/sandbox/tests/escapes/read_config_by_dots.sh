# why: climbing from the workspace meets an empty directory (W64)
# rungs: native bwrap landlock
cat ../config.json && echo ESCAPED
