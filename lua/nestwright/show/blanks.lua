--- Blanks at the ends of texts. A pattern such as "%s*$" looks at each run of blanks once for each blank in it, and no interrupt
--- ends that: a line with a megabyte of them would hold up a session for an hour.
local blanks = {}

--- Without blanks at the end.
function blanks.right(text) return text:match "^(.*%S)" or "" end

--- Without blanks at either end.
function blanks.trim(text) return blanks.right(text:match "^%s*(.*)$") end

return blanks
