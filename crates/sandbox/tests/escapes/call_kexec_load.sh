# why: no other kernel can be started
# held by: native bwrap landlock fence
# needs: path:/sys/kernel/kexec_loaded tool:perl x86_64 root
perl -e '$! = 0; my $r = syscall(246, 0, 99, 0, 0); print "ESCAPED\n" unless $r == -1 && ($! == 1 || $! == 38);'
