# why: upper bits of the mode hide nothing
# held by: native bwrap landlock fence
# needs: tool:perl x86_64
: > s12; perl -e 'syscall(90, my $p = "s12", 0xdead000000000000 | 04755)'; test -u s12 && echo ESCAPED
