# why: the keyring is not reachable
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(250, 0, -3, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
