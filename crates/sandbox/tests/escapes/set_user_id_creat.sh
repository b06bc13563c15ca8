# why: nor by creat
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e 'umask 0; syscall(85, my $path = "s8", 04755)'; test -u s8 && echo ESCAPED
