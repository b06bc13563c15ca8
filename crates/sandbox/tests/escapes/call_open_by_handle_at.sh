# why: no file can be opened by its handle
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(304, -1, 1, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
