# why: nor by mknod of a plain file
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e 'umask 0; syscall(133, my $path = "s3", 0104755, 0)'; test -u s3 && echo ESCAPED
