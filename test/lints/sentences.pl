# Prints the sentences that readers see, a line each: "FILE:LINE: sentence". These are the texts and the comments of src and
# include, the pages, and the names of tests. Reads the names of the files from stdin. See test/lint.
use strict;
use warnings;

# print_sentences FILE [LINE, TEXT]…: the parts are one paragraph. A sentence has three words at least
sub print_sentences {
  my ($file, @parts) = @_;
  my ($text, @starts) = ('');
  for (@parts) {
    my ($line, $part) = @$_;
    push @starts, [length $text, $line];
    $text .= "$part ";
  }
  while ($text =~ /(\S.*?(?:[.?!](?=\s)|$))/gs) {
    my ($sentence, $begin) = ($1, $-[1]);
    next if $sentence =~ /^namespace / || (() = $sentence =~ /(?<!\S)["(`]?[A-Za-z]+\S*/g) < 3;
    my $line = (grep { $_->[0] <= $begin } @starts)[-1][1];
    $sentence =~ s/\s+/ /g;
    print "$file:$line: $sentence\n";
  }
}

sub print_code {
  my ($file, $code) = @_;
  my ($number, @comment) = (0);
  for (split(/\n/, $code), '') {
    ++$number;
    if (m{^\s*//+ ?(.*\S)}) {
      push @comment, [$number, $1];
      next;
    }
    print_sentences($file, @comment);
    @comment = m{^\s*\S.*\s// (.*)} ? [$number, $1] : ();
  }
  # Literals in a row are one text; a value between them is shown as "…".
  $code =~ s{^\s*//.*|^\s*#.*}{}gm;
  my $literal = qr/"(?:[^"\\\n]|\\.)*"/;
  while ($code =~ /($literal(?:(?:\s*,[^",;{}]+,)?\s*$literal)*)/g) {
    my $line = 1 + (substr($code, 0, $-[1]) =~ tr/\n//);
    my $text = $1 =~ s/"\s*,[^",;{}]+,\s*"/…/gr =~ s/"\s*"//gr =~ s/^"|"$//gr =~ s/\\n/ /gr =~ s/\\"/"/gr;
    print_sentences($file, [$line, $text]);
  }
}

sub print_page {
  my ($file, $page) = @_;
  my ($number, $code, @paragraph) = (0, 0);
  for (split(/\n/, $page), '') {
    ++$number;
    if (/^ *(```|~~~)/) {
      $code = !$code;
    } elsif (!$code && /^[^#|\s]|^ +\S/) {
      if (/^ *([-*]|\d+\.) /) {
        print_sentences($file, @paragraph);
        @paragraph = ();
      }
      push @paragraph, [$number, s/^ *([-*]|\d+\.)? *//r];
      next;
    } elsif (!$code && /^\|/) {
      print_sentences($file, [$number, $_]) for split /\s*\|\s*/;
    }
    print_sentences($file, @paragraph);
    @paragraph = ();
  }
}

chomp(my @files = <STDIN>);
for my $file (@files) {
  open my $in, '<', $file or die "$file: $!\n";
  my $content = do { local $/; <$in> };
  print_code($file, $content) if $file =~ m{^(src|include)/.*\.(h|cc)$};
  print_page($file, $content) if $file =~ /\.md$/;
  next unless $file =~ /_test\.cc$/;
  while ($content =~ /^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)/gm) {
    print "$file:", 1 + (substr($content, 0, $-[0]) =~ tr/\n//), ": $1.$2\n";
  }
}
