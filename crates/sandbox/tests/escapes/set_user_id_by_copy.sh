# why: nor by a copy that keeps modes
# held by: native bwrap landlock fence
# needs: path:/usr/bin/su
cp -p /usr/bin/su s13 2>/dev/null; chmod --reference=/usr/bin/su s13 2>/dev/null; test -u s13 && echo ESCAPED
