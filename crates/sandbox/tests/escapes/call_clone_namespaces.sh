# why: nor by clone
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 userns
perl -e '$! = 0; my $r = syscall(56, 0x10000011, 0, 0, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
