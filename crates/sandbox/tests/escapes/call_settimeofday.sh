# why: nor in the old way
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(164, 1, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
