# why: nobody is typed for, upper bits or not
# held by: native landlock
# needs: tool:perl x86_64
perl -e '$! = 0; for my $c (0x5412, 0xdead00005412) { my $r = syscall(16, 0, $c, 0); print "ESCAPED\n" unless $! == 1; $! = 0 }'
