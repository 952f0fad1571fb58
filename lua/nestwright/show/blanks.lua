--- Removes blanks at the ends of texts. A match with a pattern such as "%s*$" takes a time that is quadratic in the number of
--- adjacent blanks, and it cannot be interrupted. Such a match would block a session for an hour if a line had a megabyte of
--- blanks.
local blanks = {}

--- Returns the text without the blanks at its end.
function blanks.right(text) return text:match "^(.*%S)" or "" end

--- Returns the text without the blanks at both ends.
function blanks.trim(text) return blanks.right(text:match "^%s*(.*)$") end

return blanks
