#!/usr/bin/env bash
# Builds the image of the Dockerfile without a registry of images, and tests it: starts it as in production (an unprivileged user,
# read-only, a volume), delivers an item, kills the container, starts a new container on the same volume, finds the item
# there, and stops the container gracefully.
#
# Needs Debian's mmdebstrap, buildah, podman and runc, curl, jq, npm ci in the repository, and root. With SKIP_BUILD=1 it tests the
# image of the previous run. The base image of an earlier run is used again.
# Usage: deploy/prove-image.sh [working directory, default /tmp/postrider-image]
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-/tmp/postrider-image}
mkdir -p "$work"
store=(--storage-driver vfs --root "$work/store" --runroot "$work/run")
images() { buildah "${store[@]}" "$@"; }
containers() { podman --runtime runc --cgroup-manager cgroupfs "${store[@]}" "$@"; }
port=18080
name=postrider-proof
sizeLimit=250000000

buildBase() {
  local node=$repository/node_modules/node/bin/node npm
  npm=$(dirname "$(dirname "$(realpath "$(command -v npm)")")")
  # Replaces docker.io/library/node: Debian, the pinned Node, npm.
  mmdebstrap --quiet --variant=essential --include=ca-certificates,binutils,libatomic1,libstdc++6 \
    --customize-hook="mkdir -p \"\$1/usr/local/lib/node_modules\"" \
    --customize-hook="cp -aL \"$npm\" \"\$1/usr/local/lib/node_modules/npm\"" \
    --customize-hook="cp \"$node\" \"\$1/usr/local/bin/node\"" \
    --customize-hook='ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"' \
    --customize-hook='ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/usr/local/bin/npx"' \
    --customize-hook='cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"' \
    bookworm "$work/base.tar"
  local base
  base=$(images from scratch)
  images add --quiet "$base" "$work/base.tar" /
  images commit --quiet "$base" localhost/build-base
  images rm "$base"
  rm "$work/base.tar"
}

build() {
  images inspect --type image localhost/build-base >/dev/null 2>&1 || buildBase
  printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry 2>/dev/null)" >"$work/npmrc"
  images bud --isolation chroot --format docker --secret "id=npmrc,src=$work/npmrc" \
    --build-arg BUILD_BASE=localhost/build-base --tag localhost/postrider "$repository"
}

start() {
  containers run --detach --name "$name" --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges --network host \
    --no-healthcheck --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --volume "$work/data:/data" --env "PORT=$port" \
    localhost/postrider >/dev/null
  local deadline=$((SECONDS + 60))
  until healthy; do
    if [ "$SECONDS" -gt "$deadline" ]; then
      containers logs "$name"
      return 1
    fi
    sleep 0.5
  done
}

# Runs the health check that the image names, in the container.
healthy() {
  local check
  check=$(containers image inspect --format '{{index .HealthCheck.Test 3}}' localhost/postrider)
  containers exec "$name" node -e "$check" 2>/dev/null
}

api() {
  local path=$1
  shift
  curl --silent --show-error --fail-with-body "http://127.0.0.1:$port$path" ${key:+-H "authorization: Bearer $key"} -H 'content-type: application/json' "$@"
}

statusOf() { api "/api/v1/events/$1" | jq -r .event.status; }

trap 'containers rm --force "$name" >/dev/null 2>&1 || true' EXIT
if [ -z "${SKIP_BUILD:-}" ]; then build; fi

size=$(containers image inspect --format '{{.Size}}' localhost/postrider)
echo "size: $((size / 1000000)) MB"
[ "$size" -lt "$sizeLimit" ]

rm -rf "$work/data"
install -d -m 0700 -o 10001 -g 10001 "$work/data"
start
echo "serves as $(containers exec "$name" node -p '`user ${process.getuid()}, ${fs.statSync("/data").mode.toString(8)} /data`')"
for place in /app /; do
  containers exec "$name" node -e "try { fs.mkdirSync('$place/new') } catch (e) { process.exit(e.code === 'EROFS' ? 0 : 1) } process.exit(1)"
done
echo "cannot write beside /data and /tmp"

key=
key=$(api /api/v1/auth/signup -d '{"email": "me@example.com", "password": "correct horse battery"}' | jq -r .api_key)
url=https://tryout.postrider.invalid/$(printf '%032d' 1)
target=$(api /api/v1/targets -d "{\"kind\": \"webhook\", \"name\": \"orders\", \"url\": \"$url\"}" | jq -r .id)
event=$(api "/t/$target" -d '{"order": 1001}' | jq -r .id)
deadline=$((SECONDS + 30))
until [ "$(statusOf "$event")" = DELIVERED ]; do
  [ "$SECONDS" -le "$deadline" ]
  sleep 0.1
done
echo "delivered $event"

containers kill --signal KILL "$name" >/dev/null
containers rm --force "$name" >/dev/null
echo "killed"
start
[ "$(statusOf "$event")" = DELIVERED ]
api "/t/$target" -d '{"order": 1002}' | jq -r '"another container knows it, and took " + .id'

begun=$SECONDS
containers stop --time 40 "$name" >/dev/null
[ "$(containers inspect --format '{{.State.ExitCode}}' "$name")" = 0 ]
echo "stopped in order within $((SECONDS - begun)) s"
