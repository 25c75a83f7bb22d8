# Three images from one Dockerfile, for linux/amd64 and linux/arm64:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=dev .             the daemon alone
#   docker buildx build --target toolbox ... .                                                   with kubectl, python3 and scripts/
#   docker buildx build --target endpoint-views ... .                                            the views of the endpoints
#
# Everything that comes from elsewhere is pinned: the Go modules by go.sum, the images by digest. To renew a digest:
#
#   docker buildx imagetools inspect golang:1.26.8-bookworm --format '{{.Manifest.Digest}}'
#
# and the same for the other two. It must be that of the index, which names both platforms, not that of one of them.
ARG GO_IMAGE=golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG BASE_IMAGE=gcr.io/distroless/static-debian13:nonroot@sha256:e2e927ec666bae08560abb3c55d0659eceabb657f56b6782ab500a9fc7f555e3
ARG TOOLBOX_IMAGE=gcr.io/distroless/python3-debian13:nonroot@sha256:83aa8d4f74a4d7f7cf2d472054139bef71a927b76c680c0f2e1021d6b1d6d732

# Go compiles for other machines, so nothing is emulated.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
COPY pkg pkg
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=unknown
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.version=$VERSION" \
      -o /out/ ./cmd/...

# The kubectl that the tests use, from source.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS kubectl
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
WORKDIR /src/tools/kubernetes
COPY tools/kubernetes ./
ARG TARGETOS
ARG TARGETARCH
RUN version=$(sed -nE 's|^[[:space:]]*k8s\.io/kubernetes (v[^ ]+).*|\1|p' go.mod) && \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" \
      -o /out/kubectl k8s.io/kubernetes/cmd/kubectl

# For SOURCE_KIND=command and STORE_KIND=kubectl, compatible with the original, not recommended. No shell, and no way to become root.
FROM ${TOOLBOX_IMAGE} AS toolbox
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ionos-endpointslice-controller-toolbox" \
      org.opencontainers.image.description="The daemon with kubectl, python3 and the inventory script" \
      org.opencontainers.image.source="https://github.com/ablmnzde/ionoscloud-endpointslice-controller" \
      org.opencontainers.image.documentation="https://github.com/ablmnzde/ionoscloud-endpointslice-controller/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /out/ionos-endpointslice-controller /ionos-endpointslice-controller
COPY --from=kubectl /out/kubectl /usr/local/bin/kubectl
COPY scripts/render_inventory.py /scripts/render_inventory.py
USER 65532:65532
ENTRYPOINT ["/ionos-endpointslice-controller"]
CMD ["run"]

# The second program: lists and streams of the endpoints behind Services.
FROM ${BASE_IMAGE} AS endpoint-views
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="endpoint-views" \
      org.opencontainers.image.description="Says which endpoints stand behind which Service and port, and every change" \
      org.opencontainers.image.source="https://github.com/ablmnzde/ionoscloud-endpointslice-controller" \
      org.opencontainers.image.documentation="https://github.com/ablmnzde/ionoscloud-endpointslice-controller/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /out/endpoint-views /endpoint-views
USER 65532:65532
ENTRYPOINT ["/endpoint-views"]
CMD ["serve"]

# The last stage is what is built when none is named.
FROM ${BASE_IMAGE} AS controller
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ionos-endpointslice-controller" \
      org.opencontainers.image.description="Keeps the EndpointSlices of a Service equal to the healthy worker nodes of another cluster" \
      org.opencontainers.image.source="https://github.com/ablmnzde/ionoscloud-endpointslice-controller" \
      org.opencontainers.image.documentation="https://github.com/ablmnzde/ionoscloud-endpointslice-controller/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /out/ionos-endpointslice-controller /ionos-endpointslice-controller
USER 65532:65532
ENTRYPOINT ["/ionos-endpointslice-controller"]
CMD ["run"]
