# why: no user namespace can be made
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 userns
perl -e '$! = 0; my $r = syscall(272, 0x10000000); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
