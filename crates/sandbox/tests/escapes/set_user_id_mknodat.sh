# why: nor by mknodat
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e 'umask 0; syscall(259, -100, my $path = "s9", 0104755, 0)'; test -u s9 && echo ESCAPED
