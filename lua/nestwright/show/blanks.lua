--- Removes blanks at the ends of texts. Matching a pattern such as "%s*$" takes time that is quadratic in the number of adjacent
--- blanks, and cannot be interrupted. So a line with a megabyte of blanks would block a session for an hour.
local blanks = {}

--- Removes blanks at the end.
function blanks.right(text) return text:match "^(.*%S)" or "" end

--- Removes blanks at both ends.
function blanks.trim(text) return blanks.right(text:match "^%s*(.*)$") end

return blanks
