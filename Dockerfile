# lockchaos as an image: one static program and nothing else.
#
#   docker build -t lockchaos .
#   docker run --rm --user "$(id -u):$(id -g)" --group-add "$(stat -c %g /var/run/docker.sock)" \
#     -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:$PWD" -w "$PWD" lockchaos gate
#
# The lock services run in containers beside it (--runtime docker), so the image holds no server, and its user needs nothing but the engine's socket.
# The current folder is at the same path inside and outside, for the engine is asked to mount the run's folder by its path. See docs/ci.md.
#
# Another base, for machines that reach no registry: docker build --build-arg GO_IMAGE=… .
ARG GO_IMAGE=golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/lockchaos ./cmd/lockchaos \
 && mkdir -m 1777 /out/tmp

FROM scratch
LABEL org.opencontainers.image.title="lockchaos" \
      org.opencontainers.image.description="Fault-injection harness and checker for distributed locks" \
      org.opencontainers.image.source="https://github.com/lockchaos/lockchaos" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /
ENV LOCKCHAOS_RUNTIME=docker HOME=/tmp
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["/lockchaos"]
CMD ["--help"]
