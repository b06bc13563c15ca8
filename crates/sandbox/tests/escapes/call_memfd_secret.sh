# why: secret memory is not counted against a limit once it is unmapped
# held by: native bwrap landlock fence
# needs: tool:perl x86_64 secretmem
perl -e '$! = 0; my $r = syscall(447, 0xffff); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
