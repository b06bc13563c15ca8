# why: an abstract socket of the host is not reachable
# held by: native bwrap
# needs: tool:perl
perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_un("\0$ENV{ABSTRACT}")) and print "ESCAPED\n"'
