# why: no file capability can be set
# held by: native bwrap landlock fence
# needs: root tool:setcap
cp /bin/true capable && setcap cap_net_raw+ep capable && echo ESCAPED
