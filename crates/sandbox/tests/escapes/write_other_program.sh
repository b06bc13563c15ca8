# why: the program of another process cannot be written, not even were it not running
# held by: native
# needs: root tool:perl
perl -e 'for my $p (1, $ENV{HOST_PID}) { $! = 0; print "ESCAPED\n" if open(F, "+<", "/proc/$p/exe") || $!{ETXTBSY} }'
