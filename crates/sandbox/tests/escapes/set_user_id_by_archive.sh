# why: nor from an archive
# held by: native bwrap landlock fence
# needs: tool:perl tool:tar
perl -e 'my $h = pack("a100a8a8a8a12a12A8a1a100", "s14", "0004755", "0000000", "0000000", "00000000000", "00000000000", "", "0", ""); $h .= pack("a6a2a247", "ustar", "00", ""); substr($h, 148, 8) = sprintf("%06o\0 ", unpack("%16C*", $h)); print $h, "\0" x 1024' > s14.tar; tar -xpf s14.tar --no-same-owner 2>/dev/null; test -u s14 && echo ESCAPED
