# why: nor on a directory
# held by: native bwrap landlock fence
mkdir s11 && chmod u+s s11; test -u s11 && echo ESCAPED
