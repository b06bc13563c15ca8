# why: read-only stays read-only
# rungs: native bwrap
# needs: root tool:unshare
unshare -m sh -c "mount --bind /usr /usr && mount -o remount,rw,bind /usr" && echo ESCAPED
