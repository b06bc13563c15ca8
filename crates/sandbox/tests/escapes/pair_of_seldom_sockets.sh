# why: pairs of sockets are of AF_UNIX; other families are closed
# held by: native bwrap landlock fence
# needs: tool:perl
perl -MSocket -e '$! = 0; socketpair(my $a, my $b, 2, SOCK_STREAM, 0); print "ESCAPED $!\n" unless $! == 97'
