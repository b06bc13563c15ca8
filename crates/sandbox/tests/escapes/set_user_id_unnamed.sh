# why: nor by a file without a name that is linked later
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e 'umask 0; my $fd = syscall(257, -100, my $d = ".", 020200002, 04755); syscall(265, -100, my $p = "/proc/self/fd/$fd", -100, my $n = "s10", 0x400)'; test -u s10 && echo ESCAPED
