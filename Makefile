# lockchaos: what people type. Each target does all of its own set-up.

GO      ?= go
BIN     := bin/lockchaos
# Pure Go: one static binary, which also runs as the nodes and clients inside the private network.
# It names its commit (--version) where git can tell it.
VCS     := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -buildvcs=$(VCS) -o $(BIN) ./cmd/lockchaos

.PHONY: test-kubernetes run check test exam-table survey as-user tidy soak build lint bench fuzz simulate mutants images screenshots site clean

## run: build, and run the quick suite (half a minute; the first build takes longer)
run: build
	./$(BIN) run quick

## build: the command, bin/lockchaos
build:
	@test -d bin || echo "building lockchaos; the first time fetches modules and compiles etcd: a few minutes"
	$(BUILD)

# make test RACE=-race: with the race detector, as CI has it, where a package has goroutines. It needs a C compiler, and
# twice the time. It lets each process sleep a second before it ends, and the tests start thousands.
RACE ?=
export GORACE ?= atexit_sleep_ms=0
# With the flags of build, so that nothing is compiled for it alone.
PURE := CGO_ENABLED=0
TEST_PURE := $(PURE) $(GO) test -trimpath
TESTED := $(if $(RACE),$(RACE),-trimpath)
LONG := ./cmd/lockchaos ./harness ./backends ./hosts/docker
# Packages without goroutines (TestSingleHaveNoGoroutines): the race detector finds nothing there, and makes tests five times as long.
SINGLE := . ./checker/... ./hosts/sim ./internal/oracle ./internal/synthetic ./monotime ./policy ./reports/... ./shrink ./spelling ./strictyaml ./survey

# Packages whose tests start no service, no container and no browser.
UNIT := . ./adapter ./checker/... ./clients ./clients/external ./cmd/lockchaos/crash ./audit ./experiments ./harmless ./history/... ./internal/site ./monotime ./nemesis ./policy ./redact ./runs/... ./scenarios ./shrink ./spelling ./strictyaml ./survey

## check: format, vet, and the tests that need no service: for while you work (under a minute once it is built)
check: format
	$(GO) vet ./...
	$(TEST_PURE) $(UNIT)

## test: install what tests need (or say how), then every check and every test
test: build
	./scripts/setup
	$(MAKE) --no-print-directory lint
	$(TEST_PURE) $(SINGLE)
	@# Tests mostly wait for servers and leases: three packages at a time keep two cores busy (with the race detector two), the long ones first.
	@# gotestsum says at the end, once more, what failed and what it printed.
	$(if $(RACE),,$(PURE)) $(GO) tool gotestsum --format pkgname-and-test-fails --hide-summary skipped -- $(TESTED) -p $(if $(RACE),2,3) -timeout 35m $(LONG) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SINGLE))")
	@# Simulations have no goroutines of ours, and compile programs, which takes minutes under the race detector.
	$(if $(RACE),$(TEST_PURE) -run 'Simul|Explore' ./harness ./experiments)
	@# As an outsider: a module of its own.
	cd examples/gotest && $(if $(RACE),,$(PURE)) $(GO) test $(TESTED) -timeout 10m ./...

## as-user: suites and tests that need much of the kernel, as an ordinary user, where make runs as root (about four minutes)
as-user:
	./scripts/setup
	./scripts/as-user

## exam-table: every attack of the exam, on the lock that falls by it and on the one that stands (a quarter of an hour)
exam-table:
	LOCKCHAOS_SOAK=1 $(TEST_PURE) -count 1 -timeout 60m -run 'TestExamTable$$' ./cmd/lockchaos

## survey: every library of survey/ that can be had here, examined ten times, and the pages in docs/survey (hours)
survey: build
	./$(BIN) survey run
	./$(BIN) survey site

## soak: kills, interrupts and failures at fifty moments under each kind of fault, and nothing left; foreign histories in great number, and three judges on 200,000 of each kind of lock (some minutes)
soak: build
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -v -timeout 90m -run 'Healing|Containers/ComposeApp|Scripts/shrink|ExternalServers' ./cmd/lockchaos
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -timeout 30m ./audit ./locktest
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -timeout 60m -run 'ThreeJudges|BruteForce|OnTheRest' ./checker

## test-kubernetes: a cluster of scripts/kubernetes, its tests, and down again, as root (ten minutes; the first time builds Kubernetes: 14 of a processor; LOCKCHAOS_DEATHS=50: more kills)
test-kubernetes: build
	cd examples/k8s-app && $(PURE) $(GO) vet . && $(TEST_PURE) -count 1 .
	@trap './scripts/kubernetes down' EXIT; set -e; eval "$$(./scripts/kubernetes up)"; \
	(cd servers/kubernetes && $(PURE) $(GO) vet -trimpath ./cluster ./dns && LOCKCHAOS_REQUIRE=all $(TEST_PURE) -count 1 -timeout 30m -v ./cluster ./dns)

## tidy: after a module has been added or changed, here and in the modules of examples and of Kubernetes
tidy:
	$(GO) mod tidy
	cd examples/gotest && $(GO) mod tidy
	cd examples/go && $(GO) mod tidy
	cd examples/k8s-app && $(GO) mod tidy
	cd servers/kubernetes && $(GO) mod tidy

.PHONY: format
format:
	@test -z "$$(gofmt -l .)" || { echo "not formatted (gofmt -w):"; gofmt -l .; exit 1; }

# Packages that build on other systems, where what needs Linux is refused (hosts/other.go).
SYSTEMS := darwin windows
PORTABLE := ./hosts ./hosts/sim ./netfault ./clockskew ./nemesis ./scenarios ./clients ./locktest

## lint: format, vet, staticcheck (of what the tests build: nothing is compiled for it alone)
lint: format
	$(if $(RACE),,$(PURE)) $(GO) vet $(TESTED) ./...
	$(if $(RACE),,$(PURE)) GOFLAGS="$(TESTED)" $$($(GO) tool -n staticcheck) ./...
	@# What simulations in go test are to need of other systems.
	for os in $(SYSTEMS); do $(PURE) GOOS=$$os $(GO) build $(PORTABLE) || exit 1; done

## bench: the figures of README and docs, each beside its alternative
bench: build
	$(GO) test -run '^$$' -bench . -benchtime 2s ./checker/... ./audit ./history ./store ./hosts ./netfault ./clockskew ./harness ./serve

## fuzz: every parser of histories and of what workers say, a minute each (FUZZTIME=10s is shorter; JOBS=9 has as many of them at once, with a share of the processors)
FUZZTIME ?= 1m
JOBS     ?= 1
PARSERS  ?= ./history ./audit ./adapter ./harness
fuzz:
	JOBS=$(JOBS) ./scripts/fuzz $(FUZZTIME) $(PARSERS)

## simulate: 10,000 histories of correct locks and as many of broken ones, judged against the truth: the tables of docs/checker.md (some minutes)
simulate:
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -v -timeout 60m -run 'CorrectLocksAreNotAccused|SeededDefectsAreFound' ./checker

## mutants: plant every small defect in the checker and see whether its tests notice: docs/checker-mutants.txt (an hour on a calm machine; MUTANTS="-sample 60" is shorter)
mutants:
	$(GO) run ./internal/mutants $(MUTANTS)

## images: images of all services without a registry, for --runtime docker (the tests make their own)
images:
	./scripts/images all

## man: the manual pages, in bin/man, from the command's own help
man: build
	./$(BIN) man bin/man

## screenshots: the pictures of the README, from a fresh run
screenshots: build
	./scripts/screenshots

## site: README, docs and the survey as pages in build/site, with the report of the latest run (RUN=DIR: of another)
RUN ?= $(patsubst %/index.html,%,$(wildcard runs/latest/index.html))
site:
	CGO_ENABLED=0 $(GO) run -trimpath ./internal/site -run "$(RUN)"

clean:
	rm -rf bin build
