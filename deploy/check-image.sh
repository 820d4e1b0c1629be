#!/usr/bin/env bash
# Runs the steps of deploy/Dockerfile without Docker: each RUN in an empty root that contains the
# programs of this machine read-only, then the image's command as its user on a read-only root, until
# its health check succeeds. Needs root, git, npm and Node 26: `deploy/check-image.sh [NODE_BIN_DIR]`.
set -euo pipefail
cd "$(dirname "$0")/.."
node_bin=$(realpath "${1:-node_modules/node/bin}")

if [ -z "${IN_NAMESPACE:-}" ]; then
  IN_NAMESPACE=1 exec unshare --mount --pid --fork --kill-child "$0" "$node_bin"
fi

root=$(mktemp -d)
trap 'umount --recursive --lazy "$root"; rm -rf --one-file-system "$root"' EXIT
mount -t tmpfs tmpfs "$root"
mkdir -p "$root"/{usr,etc,dev,proc,tmp,build,app,node,user}
chmod 1777 "$root/tmp"
for name in bin sbin lib lib64; do
  [ -L "/$name" ] && cp -P "/$name" "$root/$name"
done
mount --rbind /usr "$root/usr" && mount -o remount,bind,ro "$root/usr"
mount --bind "$node_bin" "$root/node" && mount -o remount,bind,ro "$root/node"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
cp -rL /etc/ssl /etc/resolv.conf /etc/hosts /etc/passwd /etc/group /etc/nsswitch.conf "$root/etc/" 2>/dev/null || true
[ -f "$HOME/.npmrc" ] && cp "$HOME/.npmrc" "$root/user/"
git archive HEAD | tar -x -C "$root/build"

run_in() { # directory, user, command
  chroot --userspec="$2" "$root" /usr/bin/env -i HOME=/user PATH=/node:/usr/bin:/bin \
    ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS} \
    "${@:4}" /bin/bash -c "cd '$1' && $3"
}

workdir=/
while read -r word rest; do
  case $word in
    WORKDIR) workdir=$rest ;;
    RUN)
      [[ $rest == *"chown node"* ]] && continue # of the second stage
      printf '== %s\n' "$rest"
      run_in "$workdir" 0:0 "$rest"
      ;;
  esac
done <deploy/Dockerfile

mkdir -p "$root/app/data"
chown 1000:1000 "$root/app/data"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o uid=1000,mode=700 tmpfs "$root/app/data"
mount -o remount,ro "$root"
port=18787
command=$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]/\1/p' deploy/Dockerfile | sed 's/", "/ /g')
printf '== %s start, as 1000:1000 on a read-only root\n' "$command"
run_in /app 1000:1000 "exec $command start" GATEHOOK_PORT=$port >"/tmp/check-image.log" 2>&1 &
for _ in $(seq 60); do
  sleep 0.5
  if curl -fsS "http://127.0.0.1:$port/readyz"; then
    printf '\nThe image is ready.\n'
    exit 0
  fi
done 2>/dev/null
cat /tmp/check-image.log
echo 'The image did not become ready.' >&2
exit 1
