# why: a socket file of the host is not reachable
# held by: native bwrap
# needs: tool:perl
perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_un("$ENV{SOCKET}")) and print "ESCAPED\n"'
