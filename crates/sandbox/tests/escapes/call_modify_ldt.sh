# why: segments of its own are not to be had
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(154, 0, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
