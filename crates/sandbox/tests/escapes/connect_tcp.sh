# why: a host's local service is not reachable (W67)
# held by: native bwrap
# needs: tool:perl
perl -e 'use Socket; socket(S, AF_INET, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_in($ENV{TCP_PORT}, inet_aton("127.0.0.1"))) and print "ESCAPED\n"'
