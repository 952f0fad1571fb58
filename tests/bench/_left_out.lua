--- Tests of text: what they look at is a text for people, so they fail where every word of it is reversed. house.lua leaves them
--- out. Why a name stands here is said before it; a test whose failure has another cause is not to be added.
local left_out = {files = {}}
function left_out.is() return false end
return left_out
