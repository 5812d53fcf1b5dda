# Gives each claim a directory that every user may write to, and removes it with the claim. The
# directories of Kubernetes' own provisioner are root's with mode 0750; those of provisioners that
# clusters use honour fsGroup or are open, as here.
# Arguments: kubectl, the kubeconfig, the directory.
set -eu
kubectl() { "$program" --kubeconfig="$config" --cache-dir=/run/kubectl "$@"; }
program=$1 config=$2 volumes=$3
umask 0

provide() {
    mkdir -p "$volumes/$3"
    kubectl create --filename=- <<VOLUME || true
apiVersion: v1
kind: PersistentVolume
metadata: { name: "claim-$3" }
spec:
  accessModes: [ReadWriteOnce]
  capacity: { storage: 10Gi }
  claimRef: { apiVersion: v1, kind: PersistentVolumeClaim, namespace: "$1", name: "$2", uid: "$3" }
  hostPath: { path: "$volumes/$3" }
  persistentVolumeReclaimPolicy: Retain
  storageClassName: directory
VOLUME
}

# A watch begins with all there are, so nothing is missed when one ends and the next begins.
watch() { kubectl get "$@" || true; }

while sleep 1; do
    watch persistentvolumeclaims --all-namespaces --watch --output \
        'jsonpath={.metadata.namespace} {.metadata.name} {.metadata.uid} {.status.phase}{"\n"}'
done | while read -r namespace name uid phase; do
    [ "$phase" != Pending ] || provide "$namespace" "$name" "$uid"
done &

while sleep 1; do
    watch persistentvolumes --watch --output \
        'jsonpath={.metadata.name} {.spec.hostPath.path} {.status.phase}{"\n"}'
done | while read -r name path phase; do
    case $phase:$path in
    Released:"$volumes"/?*) kubectl delete persistentvolume "$name" --wait=false && rm -rf "$path" ;;
    esac
done
