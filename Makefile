# make help lists the targets; README and CONTRIBUTING say when to use which.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# What go test works on, and further flags for it, such as TESTFLAGS='-run Guard -v'.
PACKAGES ?= ./...
TESTFLAGS ?=
# Bound of one package's tests; those that start API servers take minutes on a slow machine.
TEST_TIMEOUT ?= 30m
FUZZTIME ?= 2m
# Not empty where make lint has just run: it knows all that go vet knows.
LINTED ?=
# How many random worlds make simulate lets pass, from which seed on, how long each storm is, and how many
# storms of a day follow; or the one seed that it repeats.
SEEDS ?= 1000
FIRST ?= 1
STORM ?= 10m
# Where the lab leaves its figures; with REPORT=1 it writes test/lab/results/traffic.md of them.
LAB_RESULTS ?= $(CURDIR)/bin/lab
LAB_PACKAGES = ./test/lab ./test/conformance ./test/envoy ./test/proxies
# What of go test -v is chatter; .ci/run needs more of it, to say which test wrote a line.
LAB_CHATTER = ^ *===
# The lab's own tests are few and wait most of the time; more of them at once do not disturb each other.
LAB_FLAGS = -tags lab -count=1 -p 1 -parallel 7 -v
# What runs without the race detector is compiled as the programs are, so that nothing is compiled for both.
AS_BUILT = env CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -buildvcs=false -trimpath"
# The lab needs root. Who is not uses sudo, with the modules that are there and a build cache of root's own.
LAB_ROOT = $(if $(filter-out 0,$(shell id -u)),sudo env CI="$$CI" PATH="$$PATH" GOMODCACHE="$$(go env GOMODCACHE)") $(AS_BUILT)
# How long make soak lasts.
DURATION ?= 1h
DAYS ?= 2
SEED ?=

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/ionos-endpointslice-controller and bin/endpoint-views, static, with the version from git
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: demo
demo: ## See in a minute what the daemon is for, on this machine alone
	hack/demo.sh

.PHONY: packages
packages: ## Install the Debian packages that tests and linters need, if they are missing
	@hack/install-test-packages.sh

.PHONY: tools
tools: ## Build what the tests and the linter need into .tools/bin, or TOOLS alone
	@tools/build.sh $(or $(TOOLS),all)

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: test
test: packages ## Run every test: unit, race, properties, and against a real API server
	@tools/build.sh test
	@# -count=1: some tests run the built program, which go's cache of results does not know of.
	$(if $(LINTED),,go vet $(PACKAGES))
	hack/run-tests.sh $(PACKAGES) -- -race -count=1 -vet=off -timeout $(TEST_TIMEOUT) $(TESTFLAGS)
	@# A module of its own: kube-proxy's code, against which internal/views/join is held.
	cd test/oracle && $(AS_BUILT) go vet ./... && $(AS_BUILT) go test -count=1 -timeout $(TEST_TIMEOUT) ./...

.PHONY: test-short
test-short: packages ## Run the tests that need no API server
	go test -race -short -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(PACKAGES)

.PHONY: lab
lab: packages ## Send traffic through a real kube-proxy while the world changes, as root (LONG=1: the long form; REPORT=1: write test/lab/results)
	@tools/build.sh test lab
	@rm -rf $(LAB_RESULTS) && mkdir -p $(LAB_RESULTS)
	$(LAB_ROOT) LAB_LONG=$(LONG) LAB_RESULTS=$(LAB_RESULTS) go test $(LAB_FLAGS) -timeout $(if $(LONG),24h,40m) $(TESTFLAGS) $(LAB_PACKAGES) | grep --line-buffered -Ev '$(LAB_CHATTER)'
	@[ -n "$(TESTFLAGS)" ] || $(MAKE) lab-charts
	@[ -z "$(REPORT)" ] || go run ./test/lab/report -from $(LAB_RESULTS) -to test/lab/results

.PHONY: lab-charts
lab-charts: packages ## Of the tests of the charts run those that need a real Envoy; make test runs the others
	@tools/build.sh test lab
	$(LAB_ROOT) go test $(LAB_FLAGS) -timeout 20m -run '^TestContract121AnEnvoy' ./test/chart | grep --line-buffered -Ev '$(LAB_CHATTER)'

.PHONY: soak
soak: packages ## Rotate workers and break things for DURATION (1h) at high speed, as root
	@tools/build.sh test lab
	@mkdir -p $(LAB_RESULTS)
	$(LAB_ROOT) LAB_DURATION=$(DURATION) LAB_RESULTS=$(LAB_RESULTS) go test $(LAB_FLAGS) -timeout 0 -run '^TestSoak$$' ./test/lab | grep --line-buffered -Ev '$(LAB_CHATTER)'
	@[ -z "$(REPORT)" ] || go run ./test/lab/report -from $(LAB_RESULTS) -to test/lab/results

.PHONY: bench
bench: packages ## Measure speed and scale, write bench/results/performance.md (more than an hour, LONG=1 longer; on a quiet machine)
	@tools/build.sh kube-apiserver etcd kubectl
	cd bench && go run ./report

.PHONY: test-bench
test-bench: ## Vet and test the module bench: the targets of that comparison
	cd bench && go vet ./... && go test -count=1 ./...

.PHONY: lint
lint: packages ## Check format, go.mod, that bench compiles, scripts, workflows and the rules of .golangci.yml
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { printf 'not gofmt-ed: %s\n' $$unformatted; exit 1; }
	go mod tidy -diff
	cd bench && go mod tidy -diff && go vet ./...
	cd test/oracle && go mod tidy -diff
	@tools/build.sh lint
	git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck --external-sources
	git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 .tools/bin/shfmt -i 2 -ci -d
	.tools/bin/actionlint
	$(AS_BUILT) .tools/bin/golangci-lint run ./...

.PHONY: site
site: packages ## Build the site of docs/ into .tools/site; a warning is an error
	@tools/site/build.sh

.PHONY: docs
docs: packages ## Show the site of docs/ at http://127.0.0.1:8000
	@tools/site/build.sh serve

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (2m)
	hack/fuzz.sh $(FUZZTIME)

.PHONY: simulate
simulate: ## Simulate SEEDS (1000) random storms of STORM (10m) and DAYS (2) of a day, or repeat SEED
	$(AS_BUILT) go test -tags simulation -count=1 -timeout 24h -v ./test/simulation -storm $(STORM) \
	  $(if $(SEED),-run TestStorm -seed $(SEED),-seeds $(SEEDS) -first $(FIRST) -days $(DAYS))
	@# Many Services from several pools, one seed for each 25 of those.
	[ -n "$(SEED)" ] || $(AS_BUILT) go test -count=1 -timeout 24h -v ./test/simulation/many -storm $(STORM) -seeds $$(($(SEEDS) / 25 + 1)) -first $(FIRST)
	@# The worlds of the guard and the histories of Services, of which make test tries few, with the race detector.
	[ -n "$(SEED)" ] || $(AS_BUILT) go test -count=1 -timeout 24h -v ./internal/endpoints/guard -rapid.checks $(SEEDS)
	[ -n "$(SEED)" ] || $(AS_BUILT) go test -count=1 -timeout 24h -v -run '^TestContract200NoHistory' ./internal/endpoints/controller -histories $$(($(SEEDS) / 8)) -first $(FIRST)
	@# What ten thousand endpoints cost that fall silent at once: without the race detector.
	[ -n "$(SEED)" ] || $(AS_BUILT) go test -tags simulation -count=1 -timeout 10m -v -run '^TestContract242ManySilent' ./internal/endpoints/pool

.PHONY: mutate
mutate: ## Break twenty functions of the engine, chosen by SEED (1), and show which tests notice
	$(AS_BUILT) go run ./hack/mutate -seed $(or $(SEED),1)

.PHONY: lines
lines: ## Count the lines that the two programs are made of, by package
	@hack/lines.sh

.PHONY: generate
generate: ## Write the generated documents again
	@tools/build.sh chart
	go generate ./...

.PHONY: clean
clean: ## Remove what was built, the tools included
	rm -rf bin .tools
