# why: memory of a process outside cannot be paged out
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(440, -1, 0, 0, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
