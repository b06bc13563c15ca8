# why: no memory can be moved
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(256, 0, 0, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
