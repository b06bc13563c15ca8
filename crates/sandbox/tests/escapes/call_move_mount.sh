# why: no mount can be moved
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(429, -1, 1, -1, 1, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
