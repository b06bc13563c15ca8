# why: no swap can be removed
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(168, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
