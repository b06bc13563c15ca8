# why: page faults cannot be held
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(323, 0xffff); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
