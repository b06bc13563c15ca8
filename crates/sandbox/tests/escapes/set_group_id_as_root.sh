# why: root leaves no set-group-ID file either
# held by: native bwrap landlock fence
# needs: root
: > s6; chmod 2755 s6; test -g s6 && echo ESCAPED
