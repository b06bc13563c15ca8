# why: a process outside cannot be traced
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; my $r = syscall(101, 0x4206, $ENV{HOST_PID}+0, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
