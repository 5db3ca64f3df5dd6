"""From any table or file to a `Dataset`: sources and formats, columns and their kinds, checks, audit."""
