# What a client in a container measures: client.sh direct|proxy HOST PORT TRIES BYTES HELD
# Each figure is a line of its own, in microseconds.
set -eu
via=$1 host=$2 port=$3 tries=$4 bytes=$5 held=$6

now() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }

# Opens a connection; `fd` is its descriptor.
open() {
    if [ "$via" = direct ]; then
        exec {fd}<>"/dev/tcp/$host/$port"
        return
    fi
    exec {fd}<>/dev/tcp/127.0.0.1/3128
    printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' "$host:$port" "$host:$port" >&"$fd"
    IFS= read -r line <&"$fd"
    case $line in
    'HTTP/1.1 200'*) ;;
    *)
        printf 'refused: %s\n' "$line" >&2
        exit 1
        ;;
    esac
    while IFS= read -r line <&"$fd" && [ "$line" != $'\r' ]; do :; done
}

# Asks for one byte, and has it.
ask() {
    printf 'byte\n' >&"$1"
    IFS= read -r -N 1 answer <&"$1"
    [ "$answer" = . ]
}

for ((i = 0; i < tries; i++)); do
    start=$(now)
    open
    ask "$fd"
    end=$(now)
    exec {fd}<&-
    printf 'figure first %s\n' $((end - start))
done

start=$(now)
open
printf 'pour %s\n' "$bytes" >&"$fd"
copied=$(dd bs=128K of=/dev/null <&"$fd" 2>&1)
end=$(now)
exec {fd}<&-
case ${copied##*$'\n'} in
"$bytes bytes "*) ;;
*)
    printf 'not all came: %s\n' "$copied" >&2
    exit 1
    ;;
esac
printf 'figure download %s\n' $((end - start))

start=$(now)
fds=()
for ((i = 0; i < held; i++)); do
    open
    fds+=("$fd")
done
# All of them are open now, and each of them answers.
for fd in "${fds[@]}"; do
    ask "$fd"
done
end=$(now)
printf 'figure held %s\n' $((end - start))
