# why: the password file is not in the view
# held by: native bwrap landlock
# needs: root
cat /etc/shadow >/dev/null && echo ESCAPED
