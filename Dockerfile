# lockchaos and a Redis server, as an image: for macOS and Windows, and for runners that have nothing else.
#
#   docker build -t lockchaos .
#   docker run --rm --security-opt seccomp=unconfined --security-opt systempaths=unconfined \
#     -v "$PWD:/work" lockchaos run quick
#
# No capability and no root: lockchaos makes its private networks in namespaces of its own, which the two options permit.
# docs/ci.md says which faults work, and how services run in containers beside this one (--runtime docker).
#
# Other bases, for machines that reach no registry: --build-arg GO_IMAGE=… --build-arg BASE_IMAGE=…
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/lockchaos ./cmd/lockchaos && \
    go run ./internal/notices /out/THIRD_PARTY_NOTICES.txt && cp LICENSE /out/

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="lockchaos" \
      org.opencontainers.image.description="Fault-injection harness and checker for distributed locks" \
      org.opencontainers.image.source="https://github.com/lockchaos/lockchaos" \
      org.opencontainers.image.licenses="Apache-2.0"
# A base that has redis-server stays as it is.
RUN command -v redis-server >/dev/null || { apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/*; }
COPY --from=build /out/lockchaos /usr/local/bin/lockchaos
COPY --from=build /out/LICENSE /out/THIRD_PARTY_NOTICES.txt /usr/share/doc/lockchaos/
ENV HOME=/tmp
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["lockchaos"]
CMD ["--help"]
