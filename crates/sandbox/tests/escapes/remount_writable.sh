# why: read-only stays read-only
# held by: native bwrap
# needs: root tool:unshare
unshare -m sh -c "mount --bind /usr /usr && mount -o remount,rw,bind /usr" && echo ESCAPED
