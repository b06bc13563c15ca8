# why: no block device can be made and opened
# held by: native bwrap landlock fence
# needs: root path:/sys/block/loop0
mknod "b$$" b 7 0 && head -c 0 "b$$" && echo ESCAPED
