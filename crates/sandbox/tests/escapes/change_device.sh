# why: no device of the host can be given another mode, owner or time
# held by: native
# needs: root
for d in null zero full random urandom tty; do
  { chmod 666 /dev/$d || chown 0:0 /dev/$d || touch -c -r /dev/$d /dev/$d; } 2>/dev/null && echo ESCAPED $d
done
