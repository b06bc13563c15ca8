# why: of the instance only the own parts are visible
# rungs: native bwrap landlock
ls "$ROOT" | grep -q config.json && echo ESCAPED
