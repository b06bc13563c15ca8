# why: no program can be loaded into the kernel
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(321, 99, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
