# why: nor all of a user: one that is not there, so that nothing happens outside
# held by: native bwrap landlock fence
# needs: tool:perl
perl -e '$! = 0; setpriority(2, 64999, 19); print "ESCAPED\n" unless $!{EPERM}'
