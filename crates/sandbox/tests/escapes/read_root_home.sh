# why: root's home is not in the view
# held by: native bwrap landlock
# needs: root
ls /root >/dev/null && echo ESCAPED
