# why: nor starved of the disk
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
perl -e '$! = 0; syscall(251, 3, 64999, 3 << 13); print "ESCAPED\n" unless $!{EPERM}'
