use POSIX 'uname';
my ($prctl, $setns, $unshare, $clone) = @{{x86_64 => [157, 308, 272, 56], aarch64 => [167, 268, 97, 220]}->{(uname)[4]}};
my ($new, $eperm, $enosys, $allow) = (0x7e020000, 0x50001, 0x50026, 0x7fff0000);
my @code = ([0x20, 0, 0, 0], [0x15, 6, 0, $setns], [0x15, 3, 0, $unshare], [0x15, 2, 0, $clone], [0x15, 4, 0, 435],
    [0x15, 3, 4, 444], [0x20, 0, 0, 16], [0x45, 0, 2, $new], [6, 0, 0, $eperm], [6, 0, 0, $enosys], [6, 0, 0, $allow]);
my $code = join '', map { pack 'SCCL', @$_ } @code;
my $program = pack 'Sx6P', scalar @code, $code;
syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($prctl, 22, 2, $program) == 0 or die "no filter: $!";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!";
