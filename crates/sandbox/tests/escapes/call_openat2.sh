# why: openat2 is not there, so that programs fall back to openat
# held by: native bwrap landlock fence
# needs: tool:perl
perl -e '$! = 0; my $how = pack("QQQ", 0, 0, 0); my $r = syscall(437, -100, my $path = ".", $how, 24); print "ESCAPED\n" unless $r == -1 && $! == 38'
