# why: seldom used families of sockets are closed: AF_ALG, AF_VSOCK, AF_KEY, AF_XDP, AF_PACKET
# held by: native bwrap landlock fence
# needs: root tool:perl
perl -e 'for (38, 40, 15, 44, 17) { $! = 0; socket(S, $_, 3, 0); print "ESCAPED\n" unless $!{EAFNOSUPPORT} }'
