# why: the host keeps its name
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(170, 1, 1); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
