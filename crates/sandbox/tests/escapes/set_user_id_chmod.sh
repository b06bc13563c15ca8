# why: no set-user-ID file is left by chmod
# held by: native bwrap landlock fence
: > s1; chmod 4755 s1; test -u s1 && echo ESCAPED
