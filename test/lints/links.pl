# Follows the links of all pages, and the names of pages that other files cite, and checks the numbers of facts and the names
# of tests. Reads the names of the files from stdin. See test/lint.
use strict;
use warnings;

my ($followed, $broken) = (0, 0);

sub expect {
  my ($holds, $message) = @_;
  ++$followed;
  return if $holds;
  ++$broken;
  print "$message\n";
}

sub lines_of {
  my ($file) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  chomp(my @lines = <$in>);
  return @lines;
}

# The anchors that GitHub makes of the headings of a page, and its links with their lines. Code has neither.
my %looked;
sub look {
  my ($page) = @_;
  return $looked{$page} if $looked{$page};
  my ($code, $number, %count, %anchors, @links) = (0, 0);
  for (lines_of($page)) {
    ++$number;
    $code = !$code if /^ *(```|~~~)/;
    next if $code;
    if (/^#+ +(.*?)( +#+)? *$/) {
      my $name = lc $1;
      $name =~ s/\]\([^)]*\)//g;
      $name =~ s/[^a-z0-9 _-]//g;
      $name =~ tr/ /-/;
      my $before = $count{$name}++;
      $anchors{$before ? "$name-$before" : $name} = 1;
    }
    s/`[^`]*`/code/g;
    push @links, [$number, $1] while /\]\(([^) ]*)[^)]*\)/g;
  }
  return $looked{$page} = {anchors => \%anchors, links => \@links};
}

sub follow_links {
  my ($page) = @_;
  my ($folder) = $page =~ m{^(.*/)?};
  for (@{look($page)->{links}}) {
    my ($line, $target) = @$_;
    next if $target =~ /^[a-z]+:/;
    my ($file, $anchor) = split /#/, $target, 2;
    $file = $file eq '' ? $page : ($folder // '') . $file;
    expect(-e $file, "$page:$line: there is no $target");
    next if !defined $anchor || $file !~ /\.md$/ || !-e $file;
    expect(look($file)->{anchors}{$anchor}, "$page:$line: no heading makes the anchor of $target");
  }
}

# The pages of the facts list each fact once, as "- **F41** …".
my %facts;
for my $page (glob 'doc/rabbitmq_facts*.md') {
  for (lines_of($page)) {
    expect(!$facts{$1}++, "$page: lists $1 more than once") if /^- \*\*(F\d+)\*\* /;
  }
}

chomp(my @files = <STDIN>);

# Pages name a test `Suite.Name`, or its beginning `Suite.Nam…`.
my @tests;
for my $file (grep { m{^test/.*\.(cc|h)$} } @files) {
  for (lines_of($file)) {
    next unless /^(?:TYPED_)?TEST(?:_[FP])?\((\w+), *(\w+)/;
    push @tests, "$1.$2";
  }
}
sub names_test {
  my ($name, $whole) = @_;
  return scalar grep { $whole ? $_ eq $name : index($_, $name) == 0 } @tests;
}

for my $file (@files) {
  next unless -T $file;
  follow_links($file) if $file =~ /\.md$/;
  my ($folder) = $file =~ m{^(.*/)};
  my $number = 0;
  for (lines_of($file)) {
    ++$number;
    while (m{([A-Za-z0-9_./\${}-]*[A-Za-z0-9_\}]\.md)\b}g) {
      my $page = $1;
      $page =~ s{.*share/doc/retryq/}{};  # installed, the pages have the same places
      $page =~ s{^\$[A-Z_{}]+/}{};
      next if $page =~ m{\$|^//};  # what a script makes, and what is on another machine
      expect(-e $page || (defined $folder && -e $folder . $page), "$file:$number: cites $page, which is not there");
    }
    while ($file =~ /\.md$/ && /`(?:\w+\/)?(([A-Z]\w+)\.[A-Z]\w+)((?:…)?)`/g) {
      expect(names_test($1, $3 eq ''), "$file:$number: cites the test $1, which is not there") if $1 ne 'Suite.Name' && @tests;
    }
    next unless $file =~ /\.(md|h|cc|cpp)$/;
    expect($facts{$1}, "$file:$number: cites $1, which doc/rabbitmq_facts*.md do not list") while /\b(F\d+)(?![0-9a-z])/g;
  }
}
print "$followed links followed, $broken broken\n";
exit($followed == 0 || $broken > 0);
