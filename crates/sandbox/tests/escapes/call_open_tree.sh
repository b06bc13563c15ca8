# why: no tree can be taken
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(428, -100, 1, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
