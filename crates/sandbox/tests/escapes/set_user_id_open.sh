# why: nor by opening a new file
# held by: native bwrap landlock fence
# needs: tool:perl
perl -e 'use Fcntl; umask 0; sysopen(F, "s2", O_CREAT | O_WRONLY, 04755)'; test -u s2 && echo ESCAPED
