# why: nor nudged
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(159, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
