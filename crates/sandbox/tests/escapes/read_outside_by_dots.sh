# why: enough dots reach the cage's own top and no further
# held by: native bwrap landlock
cat "../../../../../../../../../..$OUTSIDE/victim" && echo ESCAPED
