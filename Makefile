# lockchaos: what people type. Each target does all of its own set-up.

GO      ?= go
BIN     := bin/lockchaos
# Pure Go: one static binary, which also runs as the nodes and clients inside the private network.
# It names its commit (--version) where git can tell it.
VCS     := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
BUILD   := $(GO) build -ldflags="-s -w" -buildvcs=$(VCS) -o $(BIN) ./cmd/lockchaos

.PHONY: packages try-packages test-kubernetes run check test test-all exam-table survey as-user tidy soak build lint bench fuzz simulate mutants images screenshots site clean

## run: build, and run the quick suite (half a minute; the first build takes longer)
run: build
	./$(BIN) run quick

## build: the command, bin/lockchaos
build:
	@test -d bin || echo "building lockchaos; the first time fetches modules and compiles etcd: a few minutes"
	$(BUILD)

# One set of flags for build, vet, lint and tests: nothing is compiled twice. Test programs are linked without
# what only debuggers read. go test vets nothing, because `go vet` looks at all packages first. Tests wait for
# servers and leases more than they compute: four of a package at a time.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath
TESTED := -vet=off -ldflags="-s -w" -parallel 4
# A python3 of pyenv is a script that looks for Python, which takes longer than Python's own start. Tests
# start it a thousand times: they take the one that it finds.
PYTHON3 := $(shell python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null)
export PATH := $(if $(filter-out $(subst :, ,$(PATH)),$(PYTHON3)),$(PYTHON3):)$(PATH)
# The race detector lets each process sleep for a second before it ends, and the tests start thousands.
export GORACE ?= atexit_sleep_ms=0

# Packages whose tests start no service, no container and no browser.
UNIT := ./adapter ./checker/... ./clients ./clients/external ./clients/shell ./cmd/lockchaos/crash ./history/... ./internal/audit/... \
	./internal/decided ./internal/harmless ./internal/hosts/agent ./internal/hosts/needed ./internal/monotime ./internal/mutants ./internal/notices ./internal/oracle \
	./internal/policy ./internal/redact ./internal/runs/... ./internal/shrink ./internal/site ./internal/spelling ./internal/strictyaml \
	./internal/synthetic ./internal/testtimes ./internal/tidy ./nemesis \
	./reports ./reports/ci ./reports/draw ./reports/phrase ./reports/story ./reports/studies ./reports/terminal ./scenarios ./survey
# Packages whose tests take long: they begin first. The longest have many tests side by side, so pages and
# the store, which test one thing after the other, begin beside them.
LONG := ./cmd/lockchaos ./internal/backends ./reports/page ./internal/store ./internal/harness ./internal/conformance ./internal/serve ./clients/redis ./clients/broken ./locktest
# Packages without goroutines (TestSingleHaveNoGoroutines): the race detector finds nothing there, and makes tests five times as long.
SINGLE := ./checker/... ./internal/hosts/needed ./internal/hosts/sim ./internal/oracle ./internal/synthetic ./internal/testtimes ./internal/tidy ./internal/monotime ./internal/policy ./reports/... ./internal/shrink ./internal/spelling ./internal/strictyaml ./survey

# others LISTS: all packages that are in none of the lists.
others = $$($(GO) list ./... | grep -vxF "$$($(GO) list $(1))")
# gotestsum says at the end, once more, what failed and what it printed. testtimes says where the time went, and what was left out.
CHECKED := build/check.json
RESULTS := build/tests.json
APART   := build/apart.json
APARTS  := Containers|Simul|Explore|ThenLocal|VirtualTime|BesideAnExam|JavaGC|ExternalDocs|Cluster|TLS$$|ExamMasks|Examples|OfKinds|Controls$$|Frontends
# Garbage is collected less often, as in our nodes (internal/hosts/process.go): tests start thousands of short processes.
SUM := GOGC=400 $(GO) tool gotestsum --format pkgname-and-test-fails --hide-summary skipped
TIMES := $(GO) run ./internal/testtimes

## check: format, vet, and the tests that need no service: for while you work (under a minute once it is built)
check: vet
	LOCKCHAOS_TIER=packages $(SUM) --jsonfile $(CHECKED) -- $(TESTED) -timeout 60m $(UNIT)

## test: everything that the system's packages and npm let run here: check, then each lock, fault and command on real servers, and pages in a browser (installs what it needs, or says how)
test:
	@# Tests of services mostly wait, for servers and leases; those of check compute meanwhile.
	@rm -f $(CHECKED) $(RESULTS)
	@status=0; $(MAKE) --no-print-directory -j 4 check on-servers outside || status=$$?; \
	$(TIMES) $(CHECKED) $(RESULTS); exit $$status

## test-all: the rest: staticcheck, the pages of the site, the race detector, servers that must be built, containers, an outsider's module, an ordinary user, fuzzing, a sample of the survey (three quarters of an hour)
test-all: build
	./scripts/setup all
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory site
	@rm -f $(RESULTS) $(APART)
	@status=0; $(MAKE) --no-print-directory -j 2 raced apart || status=$$?; $(TIMES) $(RESULTS) $(APART); exit $$status
	@# Building Kubernetes takes 14 minutes of a processor: where somebody has done it.
	@if [ "$$(id -u)" = 0 ] && [ -x "$${XDG_CACHE_HOME:-$$HOME/.cache}/lockchaos/servers/kubernetes" ]; then $(MAKE) test-kubernetes; else \
	echo "NOT RUN: make test-kubernetes, which needs root, and Kubernetes built before (scripts/servers kubernetes)"; fi
	@# What \`go get\` of this module asks of a newcomer, from an empty module cache.
	./scripts/outsider
	$(MAKE) as-user
	@# Their tests need pip and npm, and what they fetch.
	@if ./scripts/packages able; then $(MAKE) --no-print-directory packages try-packages; else \
	echo "NOT RUN: make packages try-packages, which need python3 with venv and pip, npm, and their registries"; fi
	@# A minute for each parser, all at once. Where a parser's package needs all services compiled once more for it, its seeds alone.
	$(MAKE) fuzz JOBS=9 PARSERS="./history ./internal/audit ./internal/audit/formats ./internal/audit/times ./adapter"
	@# A sample of the survey: three libraries, each installed and examined once.
	./$(BIN) survey run redislock redis-py redis-semaphore --exams 1 --attack stop-work,lost-brief-reply,late-release

# Parts of make test-all, side by side: when one waits for servers or containers, another computes.
.PHONY: raced apart
# A race slows tests down: two packages at a time.
raced:
	@mkdir -p build
	CGO_ENABLED=1 $(SUM) --jsonfile $(RESULTS) -- $(TESTED) -race -p 2 -timeout 60m $(filter-out ./reports/page,$(LONG)) ./internal/hosts/docker $(call others,$(LONG) ./internal/hosts/docker $(SINGLE))

# What the race detector does not see, and make test leaves out (internal/hosts/needed): programs in other languages,
# simulations, which have no goroutines of ours and compile programs, containers, and services that others stand for.
apart:
	@mkdir -p build
	$(SUM) --jsonfile $(APART) -- $(TESTED) -parallel 3 -p 1 -timeout 60m -run '$(APARTS)' ./cmd/lockchaos ./internal/conformance ./clients/broken ./internal/harness ./internal/experiments ./locktest
	$(GO) test $(TESTED) -timeout 60m ./internal/exhaustive

## as-user: suites and tests that need much of the kernel, as an ordinary user, where make runs as root (about four minutes)
as-user:
	./scripts/setup all
	./scripts/as-user

## exam-table: every attack of the exam, on the lock that falls by it and on the one that stands (a quarter of an hour)
exam-table:
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -timeout 60m -run 'TestExamTable$$' ./cmd/lockchaos

## survey: every library of survey/ that can be had here, examined ten times, and docs/survey.md (hours; make site shows more)
survey: build
	./$(BIN) survey run
	./$(BIN) survey site

## packages: those for pytest, for Vitest, Jest and node:test, for JUnit and for cargo test, into dist (docs/releasing.md)
packages:
	./scripts/packages

## try-packages: what is in dist, installed into empty projects, where the examples are run (some minutes)
try-packages:
	./scripts/packages try

## soak: kills, interrupts and failures at fifty moments under each kind of fault, and nothing left; foreign histories in great number, and three judges on 200,000 of each kind of lock (some minutes)
soak: build
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -v -timeout 90m -run 'Healing|Containers/ComposeApp|Scripts/shrink|ExternalServers' ./cmd/lockchaos
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -timeout 30m ./internal/audit ./locktest
	LOCKCHAOS_SOAK=1 $(GO) test -count 1 -timeout 60m -run 'ThreeJudges|BruteForce|OnTheRest' ./checker

## test-kubernetes: a cluster of scripts/kubernetes, its tests, and down again, as root (ten minutes; the first time builds Kubernetes: 14 of a processor; LOCKCHAOS_DEATHS=50: more kills)
test-kubernetes: build
	cd examples/k8s-app && $(GO) vet . && $(GO) test -count 1 .
	@trap './scripts/kubernetes down' EXIT; set -e; eval "$$(./scripts/kubernetes up)"; \
	(cd servers/kubernetes && $(GO) vet ./cluster ./dns && LOCKCHAOS_REQUIRE=all $(GO) test -count 1 -timeout 30m -v ./cluster ./dns)

## tidy: after a module has been added or changed, here and in the modules of examples and of Kubernetes
tidy:
	$(GO) mod tidy
	cd examples/gotest && $(GO) mod tidy
	cd examples/go && $(GO) mod tidy
	cd examples/client-go && $(GO) mod tidy
	cd examples/k8s-app && $(GO) mod tidy
	cd servers/kubernetes && $(GO) mod tidy

# The parts of make test. All wait for vet, so that none compiles what another compiles at the same time.
.PHONY: on-servers outside installed vet format
on-servers: vet installed
	LOCKCHAOS_TIER=packages $(SUM) --jsonfile $(RESULTS) -- $(TESTED) -p 4 -timeout 60m $(LONG) $(call others,$(LONG) $(UNIT))

# As an outsider: a module of its own.
outside: vet installed
	cd examples/gotest && $(GO) test -timeout 10m ./...

# Packages are installed while everything is compiled, and while the tests run that need none.
installed:
	@mkdir -p build
	@./scripts/setup >build/setup.log 2>&1 || { cat build/setup.log; exit 1; }; cat build/setup.log

vet: format
	@mkdir -p build
	$(GO) vet ./...
	@$(GO) tool -n gotestsum >/dev/null

format:
	@test -z "$$(gofmt -l .)" || { echo "not formatted (gofmt -w):"; gofmt -l .; exit 1; }

## lint: staticcheck, and the types of what is portable on other systems (make check has the format, and vet)
lint:
	$$($(GO) tool -n staticcheck) ./...
	@# Anew: Go's cache of results does not know which files it looked at.
	$(GO) test $(TESTED) -count 1 -run OtherSystems ./internal/tidy

## bench: the figures of README and docs, each beside its alternative; and beside those of a commit (BEFORE=COMMIT, else the last release, if there is one): what became slower (BENCH=regexp: fewer benchmarks, ROUNDS=6)
BENCHED := ./checker ./checker/witness ./internal/audit ./history ./internal/store ./internal/hosts ./internal/netfault ./internal/clockskew ./internal/harness ./internal/serve ./internal/exhaustive
BEFORE  ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
BENCH   ?= .
bench: build
	@test -n "$(BEFORE)" || echo "bench: no release to compare with (BEFORE=COMMIT)"
	$(if $(BEFORE),BENCH='$(BENCH)' ./scripts/bench $(BEFORE) $(BENCHED),$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 2s $(BENCHED))

## fuzz: every parser of histories and of what workers say, a minute each (FUZZTIME=10s is shorter; JOBS=9 has as many of them at once, with a share of the processors)
FUZZTIME ?= 1m
JOBS     ?= 1
PARSERS  ?= ./history ./internal/audit ./internal/audit/formats ./internal/audit/times ./adapter ./internal/harness/wire
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
	$(GO) run ./internal/site -run "$(RUN)"

clean:
	rm -rf bin build
