# why: no crash starts a program outside: the core limit stays 1
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e 'my $new = pack("QQ", 0, 0); syscall(160, 4, $new); syscall(302, 0, 4, $new, 0); my $old = pack("QQ", 9, 9); syscall(302, 0, 4, 0, $old); print "ESCAPED\n" unless join(" ", unpack("QQ", $old)) eq "1 1"'
