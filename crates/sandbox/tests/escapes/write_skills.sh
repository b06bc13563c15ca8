# why: the shared skills are read-only
# rungs: native bwrap landlock fence
# judge: tree
echo x >> "$ROOT/skills/skill.md"
