# why: the domain name is not its own
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(171, 0, -1); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
