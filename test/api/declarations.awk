# Prints what headers declare and their users can use, a line each: "retryq::Client: void Publish(…)". Comments, bodies
# of functions, private parts and what is in a namespace `internal` are left out.

function trim(s) {
  gsub(/[ \t\n]+/, " ", s)
  sub(/^ /, "", s)
  sub(/ $/, "", s)
  return s
}

# Whether all scopes around this place can be seen from outside.
function visible(    i) {
  for (i = 1; i <= depth; ++i) {
    if (hidden[i]) return 0
  }
  return 1
}

function where(    i, path) {
  for (i = 1; i <= depth; ++i) {
    if (scope[i] != "") path = path (path == "" ? "" : "::") scope[i]
  }
  return path
}

function declare(s) {
  s = trim(s)
  sub(/\) : .*$/, ")", s)  # what a constructor initializes
  if (s == "" || !visible() || s ~ /^(friend )?(class|struct) [A-Za-z:]+$/ || s ~ /= delete$/) return
  print where() ": " s
}

function enter(name, is_hidden) {
  ++depth
  scope[depth] = name
  hidden[depth] = is_hidden
  is_enum[depth] = 0
}

# A brace that opens a namespace, a type, or something of which only what is before it counts.
function open(    s, name, n) {
  s = trim(text)
  if (s ~ /^namespace /) {
    sub(/^namespace /, "", s)
    enter(s, s ~ /internal$/)
    text = ""
  } else if (s !~ /[(=]/ && match(s, /(^|> )(class|struct|enum class) /)) {
    if (visible()) print where() ": " s
    name = substr(s, RSTART + RLENGTH)
    n = s ~ /(^|> )class /
    sub(/ ?:[^:].*$/, "", name)
    sub(/ final$/, "", name)
    sub(/.*\]\] /, "", name)
    enter(name, n)
    is_enum[depth] = s ~ /enum class /
    text = ""
  } else {
    skipping = 1
    keeps = s ~ / =( |$)/ && s !~ /operator/  # a default, which counts
    if (keeps) text = text "{"
  }
}

function close_scope(    values, line, i, j, n) {
  if (is_enum[depth]) {
    sub(/,[ \t\n]*$/, "", text)
    n = split(text, values, ",")
    for (i = 1; i <= n; i += 5) {
      line = values[i]
      for (j = i + 1; j <= n && j < i + 5; ++j) line = line ", " values[j]
      declare(line)
    }
  }
  text = ""
  --depth
}

FNR == 1 { depth = parens = skipping = 0; text = "" }
/^#/ { next }
{
  line = $0
  sub(/(^|[ \t]+)\/\/.*$/, "", line)
  gsub(/RETRYQ_(NO_)?EXPORT /, "", line)
  gsub(/ ?\/\*[^*]*\*\//, "", line)
  line = line "\n"
  for (at = 1; at <= length(line); ++at) {
    c = substr(line, at, 1)
    if (c == "\"" || c == "'" && substr(line, at, 3) ~ /^'.'$/) {
      match(substr(line, at + 1), c == "\"" ? "\"" : "'")
      if (!skipping || keeps) text = text substr(line, at, RSTART + 1)
      at += RSTART
    } else if (skipping) {
      if (c == "{") ++skipping
      if (c == "}") --skipping
      if (keeps) text = text c
      if (!skipping && !keeps) {
        declare(text)
        text = ""
      }
    } else if (c == "(") {
      ++parens
      text = text c
    } else if (c == ")") {
      --parens
      text = text c
    } else if (parens) {
      text = text c
    } else if (c == "{") {
      open()
    } else if (c == "}") {
      close_scope()
    } else if (c == ";") {
      declare(text)
      text = ""
    } else if (c == ":" && trim(text) ~ /^(public|protected|private)$/) {
      hidden[depth] = trim(text) == "private"
      text = ""
    } else {
      text = text c
    }
  }
}
