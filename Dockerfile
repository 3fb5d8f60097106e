# Cellar as a server: small, without rights, one port for all doors. See docs/server.md.
FROM node:20-alpine AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:20-alpine
WORKDIR /cellar
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY --from=build /build/data data
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 16020
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD node -e "fetch('http://127.0.0.1:16020/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["node", "dist/cli/main.cjs", "serve", "/data", "--host", "0.0.0.0", "--port", "16020"]
