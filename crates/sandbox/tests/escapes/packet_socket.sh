# why: no packets can be read from the wire
# held by: native bwrap
# needs: root tool:perl
perl -e 'socket(S, 17, 3, 768) and print "ESCAPED\n"'
