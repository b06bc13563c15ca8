# why: no descriptor of another process can be taken
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(438, 999, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
