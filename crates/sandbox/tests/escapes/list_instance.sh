# why: of the instance only the own parts are visible
# held by: native bwrap landlock
ls "$ROOT" | grep -q config.json && echo ESCAPED
