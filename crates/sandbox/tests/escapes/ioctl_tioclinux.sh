# why: the console cannot be driven, upper bits or not
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; for my $c (0x541c, 0x541d, 0xdead0000541c) { my $r = syscall(16, 0, $c, 0); print "ESCAPED\n" unless $! == 1; $! = 0 }'
