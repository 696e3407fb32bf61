# Makes a manual page of what `retryq [COMMAND] --help` prints, so that the two cannot differ.
#
# usage: retryq send --help | awk -v name=retryq-send -v version=0.1.0 -f cmake/man_page.awk > retryq-send.1

function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\&" text
  return text
}

function print_text(text) { print escaped(text) }

function begin_section(title) {
  if (title != section) print ".SH " title
  section = title
}

# From lines[first] on: a group of flags, which ends with an empty line.
function print_group(first,   i, row, split_at) {
  begin_section("OPTIONS")
  print ".SS " escaped(substr(lines[first], 1, length(lines[first]) - 1))
  for (i = first + 1; i <= count && lines[i] ~ /^ /; ++i) {
    if (lines[i] ~ /^  [^ ]/) {
      row = substr(lines[i], 3)
      print ".TP"
      if (match(row, /  +/)) {
        split_at = RSTART
        print ".B " escaped(substr(row, 1, split_at - 1))
        print_text(substr(row, split_at + RLENGTH))
      } else {
        print ".B " escaped(row)
      }
    } else {
      sub(/^ +/, "", lines[i])
      print_text(lines[i])
    }
  }
  return i
}

# From lines[first] on: a paragraph. What is indented, or in columns, stays as it is.
function print_paragraph(first,   i, title) {
  title = "NOTES"
  if (lines[first] ~ /^Example/) title = "EXAMPLES"
  if (lines[first] ~ /^(Exit|Exits) /) title = "EXIT STATUS"
  if (title == section) print ".PP"
  begin_section(title)
  for (i = first; i <= count && lines[i] != ""; ++i) {
    if (lines[i] ~ /^ |[^ ]   +[^ ]/) {
      if (!fixed) print ".nf"
      fixed = 1
    } else if (fixed) {
      print ".fi"
      fixed = 0
    }
    print_text(lines[i])
  }
  if (fixed) print ".fi"
  fixed = 0
  return i
}

{ lines[++count] = $0 }

END {
  for (usage = 1; usage <= count && lines[usage] !~ /^Usage: /; ++usage) {
  }
  if (usage > count) {
    print "man_page.awk: no line begins with 'Usage: '" > "/dev/stderr"
    exit 1
  }
  description = ""
  for (i = 1; i < usage; ++i) description = description (i > 1 && lines[i] != "" ? " " : "") lines[i]
  summary = description
  sub(/[.:,] .*/, "", summary)
  sub(/\.$/, "", summary)

  printf ".TH %s 1 \"\" \"retryq %s\" \"retryq\"\n", toupper(name), version
  print ".ad l"
  begin_section("NAME")
  printf "%s \\- %s\n", escaped(name), escaped(tolower(substr(summary, 1, 1)) substr(summary, 2))
  begin_section("SYNOPSIS")
  for (i = usage; lines[i] != ""; ++i) {
    sub(/^(Usage:)? +|^Usage: /, "", lines[i])
    print ".B " escaped(lines[i])
    print ".br"
  }
  begin_section("DESCRIPTION")
  print_text(description)
  while (++i <= count) {
    if (lines[i] == "") continue
    if (lines[i] ~ /:$/ && lines[i + 1] ~ /^  [^ ]/ && lines[i] !~ /^Exam/ && in_groups(i)) {
      i = print_group(i) - 1
    } else {
      i = print_paragraph(i)
    }
  }
  begin_section("SEE ALSO")
  print escaped("retryq(1), retryq-work(1), retryq-plan(1), retryq-declare(1), retryq-send(1), retryq-queues(1),")
  print escaped("retryq-waiting(1), retryq-parked(1), retryq-doctor(1), retryq-completions(1); the pages beside README.md where the package puts its documentation")
}

# Groups of flags end with the one that holds --help; the commands of one follow it.
function in_groups(i) {
  if (help_at == 0) {
    for (help_at = count; help_at > 1 && lines[help_at] !~ /^  -h,--help/; --help_at) {
    }
  }
  return i < help_at || lines[i] == "Commands:"
}
