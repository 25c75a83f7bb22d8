#!/usr/bin/env bash
# Builds the programs that the tests and the linter need, each pinned by a tools module, into .tools/bin.
set -euo pipefail

readonly every=15 # seconds between two lines of progress

usage() {
  cat <<'TXT'
Usage: tools/build.sh [NAME...]

Builds the named programs into .tools/bin of this repository and skips those
that are up to date. The versions stand in tools/*/go.mod; the source comes from
the Go module proxy. Only Envoy, which is no Go program, is downloaded as a
binary: tools/envoy/main.go pins its version and hash.

Programs  kube-apiserver kube-controller-manager etcd kubectl promtool
          helm3 helm4 helm-unittest helm-docs kube-score crd-gen
          kube-proxy coredns traefik envoy cert-manager
          blackbox_exporter
          golangci-lint shfmt actionlint
Groups    test (the first two lines and kube-proxy, the default), chart (the
          second line), lab (the third line), bench (the fourth), lint (the
          last line), all

The first build of kube-apiserver takes about four minutes on two cores, that of
promtool two and that of traefik five; later runs take less than a second. Of
two runs at the same time one waits where both need the same program.
TXT
}

# spec NAME sets module, package, tags and guess (how long a first build takes) for one program, and fetched where
# the package is a program that fetches it.
spec() {
  tags='' fetched=''
  case $1 in
    kube-apiserver) module=kubernetes package=k8s.io/kubernetes/cmd/kube-apiserver guess="4 min" ;;
    kube-controller-manager) module=kubernetes package=k8s.io/kubernetes/cmd/kube-controller-manager guess="1 min" ;;
    kube-proxy) module=kubernetes package=k8s.io/kubernetes/cmd/kube-proxy guess="1 min" ;;
    kubectl) module=kubernetes package=k8s.io/kubernetes/cmd/kubectl guess="30 s" ;;
    etcd) module=etcd package=go.etcd.io/etcd/server/v3 guess="30 s" ;;
    # Without the tag promtool has the service discovery of every cloud, some of it huge, which nothing here asks for.
    promtool) module=prometheus package=github.com/prometheus/prometheus/cmd/promtool tags=remove_all_sd guess="2 min" ;;
    blackbox_exporter) module=blackbox package=github.com/prometheus/blackbox_exporter guess="1 min" ;;
    helm3) module=helm package=helm.sh/helm/v3/cmd/helm guess="2 min" ;;
    helm4) module=helm package=helm.sh/helm/v4/cmd/helm guess="30 s" ;;
    helm-unittest) module=helm package=github.com/helm-unittest/helm-unittest/cmd/helm-unittest guess="15 s" ;;
    helm-docs) module=helm package=github.com/norwoodj/helm-docs/cmd/helm-docs guess="15 s" ;;
    # A main package of our own, for controller-gen knows no rules but its own.
    crd-gen) module=controller-gen package=github.com/ablmnzde/ionoscloud-endpointslice-controller/tools/controller-gen guess="20 s" ;;
    kube-score) module=kube-score package=github.com/zegl/kube-score/cmd/kube-score guess="30 s" ;;
    # A main package of our own, for CoreDNS is compiled with the plugins that are asked for.
    coredns) module=coredns package=github.com/ablmnzde/ionoscloud-endpointslice-controller/tools/coredns guess="1 min" ;;
    traefik) module=traefik package=github.com/traefik/traefik/v3/cmd/traefik guess="5 min" ;;
    # A main package of our own, for that of cert-manager is in a module without a version.
    cert-manager) module=cert-manager package=github.com/ablmnzde/ionoscloud-endpointslice-controller/tools/cert-manager guess="2 min" ;;
    envoy) module=envoy package=github.com/ablmnzde/ionoscloud-endpointslice-controller/tools/envoy fetched=yes guess="10 s" ;;
    golangci-lint) module=lint package=github.com/golangci/golangci-lint/v2/cmd/golangci-lint guess="1 min" ;;
    shfmt) module=shfmt package=mvdan.cc/sh/v3/cmd/shfmt guess="10 s" ;;
    actionlint) module=actionlint package=github.com/rhysd/actionlint/cmd/actionlint guess="10 s" ;;
    *) return 1 ;;
  esac
}

# expand turns groups into programs.
expand() {
  local name chart="helm3 helm4 helm-unittest helm-docs kube-score crd-gen" lint="golangci-lint shfmt actionlint"
  local lab="kube-proxy coredns traefik envoy cert-manager" bench="blackbox_exporter" test="kube-apiserver kube-controller-manager etcd kubectl kube-proxy promtool $chart"
  for name in "$@"; do
    case $name in
      test) echo "$test" ;;
      chart) echo "$chart" ;;
      lab) echo "$lab" ;;
      bench) echo "$bench" ;;
      lint) echo "$lint" ;;
      all) echo "$test $lab $bench $lint" ;;
      *) echo "$name" ;;
    esac
  done
}

say() { printf 'tools: %s\n' "$*"; }

die() {
  printf 'tools: %s\n' "$@" >&2
  exit 1
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# linker_flags strips the program and gives it its version: without it, a
# kube-apiserver built outside its own repository calls itself v0.0.0, and Helm 3
# renders for Kubernetes 1.20.
linker_flags() {
  local flags="-s -w" version
  if [ "$module" = helm ]; then
    version=$(sed -nE 's|^[[:space:]]*k8s\.io/client-go v0\.([0-9]+)\..*|\1|p' go.mod)
    [ -n "$version" ] || die "tools/helm/go.mod names no version of k8s.io/client-go"
    local in
    for in in chartutil lint/rules; do
      flags+=" -X helm.sh/helm/v3/pkg/$in.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$in.k8sVersionMinor=$version"
    done
  fi
  if [ "$module" = kubernetes ]; then
    version=$(sed -nE 's|^(require)?[[:space:]]*k8s\.io/kubernetes (v[^ ]+).*|\2|p' go.mod)
    [[ $version =~ ^v([0-9]+)\.([0-9]+)\. ]] || die "tools/kubernetes/go.mod names no version of k8s.io/kubernetes"
    local at=k8s.io/component-base/version
    flags+=" -X $at.gitVersion=$version -X $at.gitMajor=${BASH_REMATCH[1]} -X $at.gitMinor=${BASH_REMATCH[2]}"
    flags+=" -X $at.gitTreeState=archive"
  fi
  printf '%s' "$flags"
}

# toolchain prints what the go command builds with, or ends with the remedy when it is too old for the module.
toolchain() {
  local answer
  # go list, because go env does not mind being too old for the module.
  answer=$(GOWORK=off go list -m 2>&1 && go env GOVERSION GOOS GOARCH 2>&1) || die "$answer" \
    "remedy: tools/$module needs Go $(sed -n 's/^go //p' go.mod) or newer, this is $(cd / && go version); install it, or unset GOTOOLCHAIN so that go fetches it"
  tr '\n' ' ' <<<"$answer"
}

# build NAME brings .tools/bin/NAME up to date.
build() {
  local name=$1 module package tags fetched guess flags stamp log started seconds next=$every
  spec "$name"
  if command -v flock >/dev/null; then
    exec 9>"$root/.tools/$name.lock"
    flock -n 9 || { say "waiting for another tools/build.sh, which builds $name" && flock 9; }
  fi
  cd "$root/tools/$module"
  flags=$(linker_flags)
  stamp=$({
    echo "$package $flags${tags:+ -tags $tags}"
    toolchain
    cat go.mod
    [ ! -e go.sum ] || cat go.sum
    find . -maxdepth 1 -name '*.go' -exec cat {} +
  } | sha256sum)
  if [ -x "$bin/$name" ] && [ "$(cat "$bin/.$name.stamp" 2>/dev/null)" = "$stamp" ]; then
    say "$name is up to date"
    return
  fi

  log=$root/.tools/$name.log
  started=$SECONDS
  say "building $name (about $guess with an empty cache, seconds with a full one)"
  # buildvcs: the repository around the tool says nothing about the tool.
  CGO_ENABLED=0 GOWORK=off go build -v -mod=readonly -buildvcs=false -trimpath \
    -tags "$tags" -ldflags "$flags" -o "$bin/.$name.new" "$package" >"$log" 2>&1 9>&- &
  compiler=$!
  while kill -0 "$compiler" 2>/dev/null; do
    sleep 1
    seconds=$((SECONDS - started))
    if ((seconds >= next)); then
      next=$((seconds + every))
      say "  $name $(clock "$seconds"), $(grep -cv '^go: ' "$log" || true) packages compiled"
    fi
  done
  if ! wait "$compiler"; then
    compiler=
    grep -E -A20 '^(#|go:|[^ ]+: )' "$log" | tail -n 25 >&2 || true
    die "building $name failed, see above and .tools/$name.log" \
      "remedy: the module proxy (go env GOPROXY) must be reachable and the disk have room; 'go clean -cache' after a full disk"
  fi
  compiler=
  if [ -n "$fetched" ]; then
    "$bin/.$name.new" "$bin/.$name.fetched" || die "remedy: files.pythonhosted.org must be reachable, directly or through HTTPS_PROXY, and nothing on the way may change the file"
    mv -f "$bin/.$name.fetched" "$bin/.$name.new"
  fi
  mv -f "$bin/.$name.new" "$bin/$name"
  echo "$stamp" >"$bin/.$name.stamp"
  say "built $name in $(clock $((SECONDS - started))), $(du -h "$bin/$name" | cut -f1)"
}

# stop ends a compiler under way: bash lets background children ignore Ctrl-C.
stop() {
  [ -z "$compiler" ] || kill "$compiler" 2>/dev/null || true
  exit 130
}

case ${1:-} in -h | --help) usage && exit ;; esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/.tools/bin
compiler=
read -ra names <<<"$(expand "${@:-test}" | tr '\n' ' ')"
for name in "${names[@]}"; do
  spec "$name" || die "unknown program $name" "remedy: tools/build.sh --help names them all"
done
command -v go >/dev/null || die "there is no go command on the PATH" "remedy: install Go, see https://go.dev/doc/install"

trap stop INT TERM
mkdir -p "$bin"
for name in "${names[@]}"; do
  build "$name"
done
