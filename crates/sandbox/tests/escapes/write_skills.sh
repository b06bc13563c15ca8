# why: the shared skills are read-only
# held by: native bwrap landlock fence
# judge: tree
echo x >> "$ROOT/skills/skill.md"
