# why: the system's files are read-only
# held by: native bwrap landlock fence
# needs: root
cp /etc/hosts h$$ && cat h$$ > /etc/hosts && echo ESCAPED
