# why: the kernel's log is closed
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(103, 10, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
