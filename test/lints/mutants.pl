# Checks that the code still holds what the mutants break. Reads the lists of mutants. See test/lint.
use strict;
use warnings;

my $missing = 0;
while (<>) {
  next if /^#|^\s*$/;
  s/\\\|/\x01/g;
  my ($guard, @parts) = map { s/\x01/|/gr =~ s/^\s+|\s+$//gr } split /\|/;
  for (my $i = 0; $i < @parts; $i += 3) {
    my ($file, $old) = @parts[$i, $i + 1];
    my $wanted = join '\s+', map { quotemeta } split /\s+/, $old;
    open my $in, '<', $file or die "$file: $!; correct $ARGV\n";
    my $code = do { local $/; <$in> };
    next if $code =~ /$wanted/;
    print "$guard: $file does not hold '$old'; correct $ARGV\n";
    $missing = 1;
  }
}
exit $missing;
