# Gives a node its own view of the file system, then becomes its container runtime.
# Arguments: the cluster's directory, the node's directory in it, the program with its arguments.
# Mounts are the mount namespace's own, so they end with its last process.
set -eu
node=$2
cd "$1"
shift 2

# By the working directory, because a mount may hide its path.
mount -t tmpfs -o mode=0755 lazaret-kubernetes /srv
mkdir /srv/cluster
mount --no-canonicalize --bind . /srv/cluster
cd /

# A copy of an engine's mount would keep its container's files or network alive.
tac /proc/mounts | while read -r _ path _; do
    case $path in
    / | /proc* | /sys* | /dev* | /usr* | /etc* | /srv | /srv/cluster) ;;
    *) umount --lazy "$(printf %b "$path")" 2>/dev/null || true ;;
    esac
done

mount -t tmpfs -o mode=0755 lazaret-kubernetes /run
mkdir /run/cluster /run/lock
mount --move /srv/cluster /run/cluster
umount /srv

# Kubernetes has these paths built in.
mount --bind "/run/cluster/$node/lib" /var/lib
mount --bind "/run/cluster/$node/log" /var/log
mount -t tmpfs -o mode=1777 lazaret-kubernetes /tmp

# The kubelet sets what it does not find set, for the whole machine. Here it finds it.
for file in vm/overcommit_memory:1 vm/panic_on_oom:0 kernel/panic:10 kernel/panic_on_oops:1 \
    kernel/keys/root_maxkeys:1000000 kernel/keys/root_maxbytes:25000000; do
    path=${file%:*}
    [ -e "/proc/sys/$path" ] || continue
    mkdir -p "/run/sysctl/${path%/*}"
    echo "${file#*:}" >"/run/sysctl/$path"
    mount --bind "/run/sysctl/$path" "/proc/sys/$path"
done

exec "$@"
