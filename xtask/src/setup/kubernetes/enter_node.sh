# Gives a node its own view of the file system, then becomes its container runtime.
# Arguments: the cluster's directory, the node's directory in it, the program with its arguments.
# Mounts are the mount namespace's own, so they end with its last process.
set -eu
node=$2
cd "$1"
shift 2

# The working directory stays reachable when a mount hides its path.
mount -t tmpfs -o mode=0755 lazaret-kubernetes /run
mkdir /run/cluster /run/lock
mount --no-canonicalize --bind . /run/cluster

# Kubernetes has these paths built in.
mount --bind "/run/cluster/$node/lib" /var/lib
mount --bind "/run/cluster/$node/log" /var/log
mount -t tmpfs -o mode=1777 lazaret-kubernetes /tmp
mkdir /tmp/hostpath_pv
mount --bind /run/cluster/volumes /tmp/hostpath_pv

# The kubelet sets what it does not find set, for the whole machine. Here it finds it.
for file in vm/overcommit_memory:1 vm/panic_on_oom:0 kernel/panic:10 kernel/panic_on_oops:1 \
    kernel/keys/root_maxkeys:1000000 kernel/keys/root_maxbytes:25000000; do
    path=${file%:*}
    [ -e "/proc/sys/$path" ] || continue
    mkdir -p "/run/sysctl/${path%/*}"
    echo "${file#*:}" >"/run/sysctl/$path"
    mount --bind "/run/sysctl/$path" "/proc/sys/$path"
done

cd /
exec "$@"
