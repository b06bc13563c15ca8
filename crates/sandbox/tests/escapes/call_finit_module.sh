# why: nor from a descriptor
# held by: native bwrap landlock fence
# needs: path:/proc/modules tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(313, 999, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
