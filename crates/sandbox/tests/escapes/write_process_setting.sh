# why: another process's settings cannot be written
# held by: native bwrap landlock fence
cat "/proc/$HOST_PID/oom_score_adj" > s$$ && cat s$$ > "/proc/$HOST_PID/oom_score_adj" && echo ESCAPED
