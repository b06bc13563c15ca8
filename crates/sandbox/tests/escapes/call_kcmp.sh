# why: processes cannot be compared
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(312, $$+0, $$+0, 0, 0, 1); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
