# why: private keys of the system are not in the view
# held by: native bwrap landlock
# needs: root path:/etc/ssl/private
ls /etc/ssl/private >/dev/null && echo ESCAPED
