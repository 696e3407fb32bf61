# Doxygen's filter for pages. A link of the form [`Class`](../include/retryq/file.h), which leads to the header where the page is read
# as it is, leads to the class's own page.
{
  line = $0
  while (match(line, /\[`[A-Za-z:]+`\]\(\.\.\/(include|src)\/[a-z_\/]+\.h\)/)) {
    class = substr(line, RSTART + 2, RLENGTH - 2)
    sub(/`.*/, "", class)
    printf "%s[%s](@ref retryq::%s)", substr(line, 1, RSTART - 1), class, class
    line = substr(line, RSTART + RLENGTH)
  }
  print line
}
