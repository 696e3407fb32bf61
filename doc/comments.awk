# Doxygen's filter for headers. What stands directly above a declaration, or behind it on its line, becomes documentation, so that
# the headers stay as they are: plain comments, without a word of markup. Anything in them that Doxygen would take for a command is escaped.

# text LINE: a line of a comment, as Doxygen shall read it. What stands between backticks, over the end of a line too, is code.
function text(line,    parts, n, i, out) {
  if (line ~ /^    /) return line
  n = split(line, parts, "`")
  for (i = 1; i <= n; ++i) {
    if (i > 1) {
      out = out (quoted ? "</code>" : "<code>")
      quoted = !quoted
    }
    gsub(/&/, "\\&amp;", parts[i])
    gsub(/</, "\\&lt;", parts[i])
    gsub(/>/, "\\&gt;", parts[i])
    gsub(/[\\@#%]/, "\\\\&", parts[i])
    out = out parts[i]
  }
  return out
}

# flush MARK: writes the comment that was held back, its lines beginning with MARK. The first paragraph is the summary; what is
# indented below a blank line is code.
function flush(mark,    i, blank, code, line) {
  blank = 1
  quoted = 0
  for (i = 1; i <= held; ++i) {
    line = comment[i]
    code = line ~ /^   / && (blank || code)
    blank = line == ""
    if (mark == "///") line = (i == 1 ? " @brief" : "") text((code ? "   " : "") line)
    print indent mark line
  }
  held = 0
}

# Nothing for readers of the documentation.
/^ *\/\/ (NOLINT|IWYU)/ { flush("//"); print; next }

/^ *\/\// {
  column = index($0, "//")
  if (behind && column == behind && held == 0) {  # goes on with what stands behind the line above
    print substr($0, 1, column - 1) "///<" text(substr($0, column + 2))
    next
  }
  behind = 0
  indent = substr($0, 1, column - 1)
  comment[++held] = substr($0, column + 2)
  next
}

{
  flush($0 ~ /^[ ]*$/ || $0 ~ /^#/ || $0 ~ /^ *}/ ? "//" : "///")
  behind = 0
  gsub(/RETRYQ_(NO_)?EXPORT /, "")  # says something to the compiler alone
  if ($0 ~ /^[}#]/ || $0 ~ /NOLINT|IWYU/ || !match($0, /[^ ] +\/\/ /)) {
    print
    next
  }
  behind = RSTART + RLENGTH - 3
  print substr($0, 1, behind - 1) "///<" text(substr($0, behind + 2))
}

END { flush("//") }
