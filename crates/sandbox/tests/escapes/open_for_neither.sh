# why: no file outside can be opened for an ioctl alone, which needs neither reading nor writing
# held by: native bwrap landlock fence
# needs: tool:perl
perl -e 'print "ESCAPED\n" if sysopen(my $file, "$ENV{OUTSIDE}/victim", 3)'
